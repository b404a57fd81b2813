package clustertest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/record"
)

// objects are what a run makes in the cluster. They all have this label.
const (
	objects = "jobs,pods,services"
	ours    = "app.kubernetes.io/managed-by=weir"
)

// A measurement is a run of weir in the cluster.
type measurement struct {
	*exec.Cmd
	dir string
	out bytes.Buffer
}

// measure starts `weir run --kube` with trials that are as short as other tests in the cluster allow.
func measure(t *testing.T, args ...string) *measurement {
	t.Helper()
	m := &measurement{dir: filepath.Join(t.TempDir(), "out")}
	m.Cmd = weir(t, append([]string{"run", "--kube", "-o", m.dir, "--keep-disturbed", "--warmup", "20ms"}, args...)...)
	m.Stdout, m.Stderr = &m.out, &m.out
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Process.Kill() }) // in vain once it has ended
	return m
}

// status waits for the end of the run.
func (m *measurement) status(t *testing.T) int {
	t.Helper()
	var exit *exec.ExitError
	if err := m.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return m.ProcessState.ExitCode()
}

// begun waits until a trial has been recorded.
func (m *measurement) begun(t *testing.T) {
	t.Helper()
	eventually(t, 2*time.Minute, func() error {
		if info, err := os.Stat(filepath.Join(m.dir, "results.jsonl")); err != nil || info.Size() == 0 {
			return errors.New("no trial is recorded")
		}
		return nil
	})
}

// results returns what the run has recorded.
func (m *measurement) results(t *testing.T) (all []record.Result) {
	t.Helper()
	c, err := store.Read(m.dir)
	if err != nil {
		t.Fatalf("%v; weir printed:\n%s", err, &m.out)
	}
	for _, p := range c.Problems {
		t.Error(p)
	}
	return c.Results
}

// nothingLeft waits until nothing that weir made is in a namespace; "" is every namespace.
func nothingLeft(t *testing.T, patience time.Duration, namespace ...string) {
	t.Helper()
	args := []string{"get", objects, "-l", ours, "-o", "name"}
	for _, n := range namespace {
		args = append(args, "--namespace="+n)
	}
	eventually(t, patience, func() error {
		left, err := tryKubectl(t.Context(), args...)
		if err == nil && left != "" {
			err = fmt.Errorf("left: %s", left)
		}
		return err
	})
}

// bothModes is the mode of kube-proxy on each node. No ConfigMap holds it here.
const bothModes = "node1: iptables, node2: nftables"

// Every network of a cluster is measured with weir's own image; nothing is left after the run.
func TestRun(t *testing.T) {
	need(t)
	t.Parallel()
	m := measure(t, "--image", os.Getenv("WEIR_IMAGE"), "-n", "host,pod,service,nodeport", "-p", "tcp-stream,udp-rr", "--blocks", "2", "--duration", "100ms")
	if status := m.status(t); status != 0 {
		t.Errorf("status %d; weir printed:\n%s", status, &m.out)
	}
	seen := map[string]int{}
	for _, r := range m.results(t) {
		if r.Status != record.OK {
			t.Errorf("%s: %s: %s", r.Trial, r.Status, r.Reason)
		}
		if got := r.Observed["cluster.kube-proxy"]; got != bothModes {
			t.Errorf("%s: kube-proxy %q, want %q", r.Trial, got, bothModes)
		}
		seen[r.Config["network"]]++
	}
	for _, n := range []string{"host", "pod", "service", "nodeport"} {
		if seen[n] != 4 {
			t.Errorf("%d trials of %s, want 4", seen[n], n)
		}
	}
	eventually(t, patience, func() error {
		left, err := tryKubectl(t.Context(), "get", "namespaces", "-l", ours, "-o", `jsonpath={.items[?(@.status.phase=="Active")].metadata.name}`)
		if err == nil && left != "" {
			err = fmt.Errorf("namespaces left: %s", left)
		}
		return err
	})
}

// Pods and Services have IPv6 addresses, too.
func TestIPv6(t *testing.T) {
	need(t)
	t.Parallel()
	m := measure(t, "--image", os.Getenv("WEIR_IMAGE"), "-n", "pod,service", "--pods-ipv6", "-p", "udp-rr", "--blocks", "1", "--duration", "100ms")
	if status := m.status(t); status != 0 {
		t.Errorf("status %d; weir printed:\n%s", status, &m.out)
	}
	rs := m.results(t)
	for _, r := range rs {
		if r.Status != record.OK {
			t.Errorf("%s: %s: %s", r.Trial, r.Status, r.Reason)
		}
	}
	if len(rs) != 2 {
		t.Errorf("%d trials, want 2", len(rs))
	}
}

// A VXLAN whose devices leave no room for its headers is not measured: weir names the size that fits. A
// VXLAN device that names no underlying device gets the MTU 1500 (drivers/net/vxlan/vxlan_core.c).
func TestWrongMTU(t *testing.T) {
	need(t)
	t.Parallel()
	for i, node := range []string{"node1", "node2"} {
		inNode(t, node, "sh", "-ec", fmt.Sprintf(`ip link add vx7 type vxlan id 7 local 10.204.0.%d remote 10.204.0.%d dstport 4790 df set
			ip addr add 10.210.0.%d/24 dev vx7
			ip link set vx7 up`, i+1, 2-i, i+1))
	}
	study := filepath.Join(t.TempDir(), "via.yaml")
	if err := os.WriteFile(study, []byte("networks: [host, {use: via, dev: vx7}]\nprobes: [udp-rr]\nblocks: 1\nduration: 100ms\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := measure(t, "--image", os.Getenv("WEIR_IMAGE"), study)
	if status := m.status(t); status != 3 {
		t.Errorf("status %d, want 3; weir printed:\n%s", status, &m.out)
	}
	for _, r := range m.results(t) {
		switch r.Config["network"] {
		case "host":
			if r.Status != record.OK {
				t.Errorf("%s: %s: %s", r.Trial, r.Status, r.Reason)
			}
		case "via":
			if r.Status != record.Skipped || !strings.Contains(r.Reason, "carries 1450 bytes but not 1451") {
				t.Errorf("%s: %s: %s", r.Trial, r.Status, r.Reason)
			}
		}
	}
}

// A namespace that forbids pods in the hosts' network costs the baseline and nothing else. weir gets
// into a shell image by itself.
func TestRestricted(t *testing.T) {
	need(t)
	t.Parallel()
	kubectl(t, "create", "namespace", "restricted")
	kubectl(t, "label", "namespace", "restricted", "pod-security.kubernetes.io/enforce=restricted")
	m := measure(t, "-N", "restricted", "-n", "host,pod", "-p", "udp-rr", "--blocks", "1", "--duration", "100ms")
	if status := m.status(t); status != 3 {
		t.Errorf("status %d, want 3; weir printed:\n%s", status, &m.out)
	}
	for _, r := range m.results(t) {
		if want := map[string]record.Status{"host": record.Skipped, "pod": record.OK}[r.Config["network"]]; r.Status != want {
			t.Errorf("%s: %s, want %s: %s", r.Trial, r.Status, want, r.Reason)
		} else if want == record.Skipped && !strings.Contains(r.Reason, "PodSecurity") {
			t.Errorf("%s was skipped for: %s", r.Trial, r.Reason)
		}
	}
	nothingLeft(t, patience, "restricted")
}

// agentsEnd bounds how long Jobs outlive the weir that made them: the time to live of finished Jobs,
// and the cluster's own time.
const agentsEnd = 90 * time.Second

// After SIGKILL, the cluster removes all that weir made.
func TestKilledWeir(t *testing.T) {
	need(t)
	t.Parallel()
	kubectl(t, "create", "namespace", "killed")
	m := measure(t, "-N", "killed", "--image", os.Getenv("WEIR_IMAGE"), "-n", "pod,service", "-p", "udp-rr", "--blocks", "5000", "--duration", "100ms")
	m.begun(t)
	if kubectl(t, "get", objects, "-l", ours, "-o", "name", "--namespace=killed") == "" {
		t.Errorf("nothing in the cluster has the label %s", ours)
	}
	if err := m.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	m.status(t)
	nothingLeft(t, agentsEnd, "killed")
}

// A pod whose kubectl dies is lost, with the trial that needs it at that moment; the run goes on with another pod.
func TestKilledKubectl(t *testing.T) {
	need(t)
	t.Parallel()
	const blocks = 10
	kubectl(t, "create", "namespace", "torn")
	m := measure(t, "-N", "torn", "--image", os.Getenv("WEIR_IMAGE"), "-n", "pod", "-p", "udp-rr", "--blocks", fmt.Sprint(blocks), "--duration", "500ms")
	m.begun(t)
	before := kubectl(t, "get", "jobs", "-o", "name", "--namespace=torn")
	kill(t, m.Process.Pid)
	eventually(t, time.Minute, func() error {
		now, err := tryKubectl(t.Context(), "get", "jobs", "-o", "name", "--namespace=torn")
		for _, job := range strings.Fields(now) {
			if !strings.Contains(before, job) {
				return nil
			}
		}
		return errors.Join(err, fmt.Errorf("no new Job, but %q", now))
	})
	status, failed := m.status(t), 0
	rs := m.results(t)
	for _, r := range rs {
		switch r.Status {
		case record.OK:
		case record.Failed:
			failed++
		default:
			t.Errorf("%s: %s: %s", r.Trial, r.Status, r.Reason)
		}
	}
	if len(rs) < blocks || failed > 1 || status != failed || rs[len(rs)-1].Status != record.OK {
		t.Errorf("status %d after %d trials, of which %d failed; weir printed:\n%s", status, len(rs), failed, &m.out)
	}
	nothingLeft(t, agentsEnd, "torn")
}

// kill sends SIGKILL to one kubectl that a process has started to attach to a pod.
func kill(t *testing.T, parent int) {
	t.Helper()
	children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range children {
		b, _ := os.ReadFile(c) // a thread can be gone
		for _, pid := range strings.Fields(string(b)) {
			argv, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			if strings.HasPrefix(string(argv), "kubectl\x00") && strings.Contains(string(argv), "\x00attach\x00") {
				var n int
				if _, err := fmt.Sscan(pid, &n); err != nil {
					t.Fatal(err)
				}
				if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				return
			}
		}
	}
	t.Fatalf("process %d has no kubectl attach", parent)
}
