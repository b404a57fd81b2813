package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/record"
)

// daemons are networks, and one of each one's daemons. BIRD would rather go on
// without whoever started it.
var daemons = map[string]string{"ovs": "ovs-vswitchd", "flannel-udp": "flanneld", "calico-bgp-datapath": "bird"}

// needDaemon skips a test where a daemon cannot be started.
func needDaemon(t *testing.T, name string) {
	t.Helper()
	needLab(t)
	if _, _, err := facts.Tool(t.Context(), name); err != nil {
		t.Skip(err)
	}
	if err := tunErr(); err != nil {
		t.Skip(err)
	}
}

// tunErr says why no tap device can be made here.
func tunErr() error {
	f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// withDaemons is a run of two networks, one of which has daemons.
func withDaemons(network, dir, blocks string) []string {
	return []string{"run", "-n", "host," + network, "-p", "udp-rr", "--blocks", blocks, "--duration", "10ms", "--warmup", "0s", "-o", dir}
}

// daemon returns a process of p that is called name.
func (p *process) daemon(t *testing.T, name string) (pid int) {
	t.Helper()
	eventually(t, name+" runs", func() bool {
		for _, line := range withEnv(p.mark) {
			number, cmdline, _ := strings.Cut(line, ": ")
			if strings.HasPrefix(filepath.Base(cmdline), name) || strings.HasPrefix(cmdline, name) {
				pid, _ = strconv.Atoi(number)
			}
		}
		return pid > 0
	})
	return pid
}

// A daemon that is killed in the middle of a run fails the trials of its network
// from then on, with its last words; the other network is measured to the end.
func TestDaemonDies(t *testing.T) {
	for network, daemon := range daemons {
		t.Run(network, func(t *testing.T) {
			needDaemon(t, daemon)
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "out")
			p := start(t, nil, withDaemons(network, dir, "20")...)
			eventually(t, "a trial is recorded", notEmpty(filepath.Join(dir, "results.jsonl")))
			if err := syscall.Kill(p.daemon(t, daemon), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if got := p.status(t); got != 1 {
				t.Errorf("status %d, want 1\n%s", got, &p.stderr)
			}
			c, err := store.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			n := map[string]map[record.Status]int{"host": {}, network: {}}
			died := regexp.MustCompile("a service of the network has ended: " + daemon + " in h[12]: signal: killed: ")
			for _, r := range c.Results {
				n[r.Asked["network"]][r.Status]++
				if r.Status == record.Failed && !died.MatchString(r.Reason) {
					t.Errorf("%s: %s", r.Trial, r.Reason)
				}
			}
			if n["host"][record.OK] < 15 || n[network][record.Failed] < 15 || len(c.Results) != 40 {
				t.Errorf("%d results: %v", len(c.Results), n)
			}
		})
	}
}

// Daemons end with weir, whatever ends weir.
func TestDaemonsEnd(t *testing.T) {
	for network, daemon := range daemons {
		for sig, want := range map[syscall.Signal]int{syscall.SIGKILL: 128 + 9, syscall.SIGINT: 4, syscall.SIGTERM: 4} {
			t.Run(network+"/"+sig.String(), func(t *testing.T) {
				needDaemon(t, daemon)
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "out")
				p := start(t, nil, withDaemons(network, dir, "5000")...)
				p.daemon(t, daemon)
				if err := p.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				if got := p.status(t); got != want { // it waits until all processes are gone
					t.Errorf("status %d, want %d\n%s", got, want, &p.stderr)
				}
			})
		}
	}
}
