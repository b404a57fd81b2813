package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/target/vm"
	"github.com/weir-bench/weir/record"
)

// inVM is a run in a virtual machine; withVMs is a run with virtual machines as pods.
func inVM(dir string) []string {
	return []string{"run", "--in-vm", "-n", "host", "-p", "udp-rr", "--blocks", "1", "-o", dir}
}

func withVMs(dir, network, blocks string) []string {
	return []string{"run", "-n", "host," + network, "-p", "udp-rr", "--blocks", blocks, "--duration", "10ms", "--warmup", "0s", "-o", dir}
}

// ofKernels is a search among two kernels.
func ofKernels(t *testing.T) []string {
	k, err := vm.FindKernel(vm.Places()...)
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(k.Image)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "bzImage")
	if err := os.WriteFile(other, append(image, '\n'), 0o666); err != nil {
		t.Fatal(err)
	}
	return []string{"bisect", "kernels", k.Image + ":" + k.Modules, other + ":" + k.Modules, "-n", "host", "-p", "udp-rr", "-o", filepath.Join(t.TempDir(), "out")}
}

// However weir ends, no virtual machine is left.
func TestGuestsEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	if err := guestErr(); err != nil {
		t.Skip(err)
	}
	for name, c := range map[string]struct {
		args []string
		sig  syscall.Signal
		want int
	}{
		"in-vm, killed":             {inVM(filepath.Join(t.TempDir(), "out")), syscall.SIGKILL, 128 + 9},
		"pods, killed":              {withVMs(filepath.Join(t.TempDir(), "out"), "vm-vxlan", "1"), syscall.SIGKILL, 128 + 9},
		"in-vm of a search, killed": {ofKernels(t), syscall.SIGKILL, 128 + 9},
		"pods, terminated":          {withVMs(filepath.Join(t.TempDir(), "out"), "vm-vxlan", "1"), syscall.SIGTERM, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tunErr(); err != nil && strings.HasPrefix(name, "pods") {
				t.Skip(err)
			}
			p := start(t, nil, c.args...)
			eventually(t, "there is a virtual machine", func() bool {
				return slices.ContainsFunc(withEnv(p.mark), func(s string) bool { return strings.Contains(s, "qemu-system-") })
			})
			if err := p.Process.Signal(c.sig); err != nil {
				t.Fatal(err)
			}
			if got := p.status(t); got != c.want { // waits until all processes are gone
				t.Errorf("status %d, want %d\n%s", got, c.want, &p.stderr)
			}
		})
	}
}

// If a guest dies during a run, its network's remaining trials fail, and the other network is
// measured to the end.
func TestGuestDies(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	if err := guestErr(); err != nil {
		t.Skip(err)
	}
	needDaemon(t, "ovs-vswitchd")
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	p := start(t, nil, withVMs(dir, "vm-vlan", "20")...)
	within(t, slow, "a trial is recorded", notEmpty(filepath.Join(dir, "results.jsonl"))) // an emulated guest, beside other tests
	if err := syscall.Kill(p.daemon(t, "qemu-system-"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := p.statusWithin(t, slow); got != 1 {
		t.Errorf("status %d, want 1\n%s", got, &p.stderr)
	}
	c, err := store.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]map[record.Status]int{"host": {}, "vm-vlan": {}}
	said, lost, others := 0, 0, []string(nil)
	for _, r := range c.Results {
		n[r.Config["network"]][r.Status]++
		switch {
		case strings.Contains(r.Reason, "a service of the network has ended: qemu-h"):
			said++
		case strings.Contains(r.Reason, "the connection to the machine was lost"): // its pipe ends before weir sees the process end: up to a few trials on a busy machine
			lost++
		case r.Reason != "":
			others = append(others, r.Reason)
		}
	}
	if failed := n["vm-vlan"][record.Failed]; n["host"][record.OK] < 15 || failed < 15 || said == 0 || said+lost != failed {
		t.Errorf("%d results: %v; %d name the service, %d the connection; others: %q", len(c.Results), n, said, lost, others)
	}
}
