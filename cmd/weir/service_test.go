package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
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

// mortals are daemons that die in the middle of a run, with their networks.
var mortals = map[string]string{"ovs-vswitchd": "ovs", "ovsdb-server": "ovs", "flanneld": "flannel-udp", "etcd": "flannel-vxlan",
	"bird": "calico-bgp-datapath", "dockerd": "docker-bridge"}

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
			program, _, _ := strings.Cut(cmdline, " ")
			if strings.HasPrefix(filepath.Base(program), name) {
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
	for daemon, network := range mortals {
		t.Run(daemon, func(t *testing.T) {
			if daemon == "dockerd" {
				needDocker(t)
			}
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
				n[r.Config["network"]][r.Status]++
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

// qemu is the program of this machine's guests.
var qemu = map[string]string{"amd64": "qemu-system-x86_64", "arm64": "qemu-system-aarch64"}[runtime.GOARCH]

// idle are daemons that start and are never ready, with their networks and what they
// say when they are asked for their version.
var idle = map[string]struct{ network, version string }{
	"ovs-vswitchd": {"ovs", "ovs-vswitchd (Open vSwitch) 9.9.9"},
	"flanneld":     {"flannel-udp", "v9.9.9"},
	"etcd":         {"flannel-vxlan", "etcd Version: 9.9.9"},
	"bird":         {"calico-bgp-datapath", "BIRD version 9.9.9"},
	"dockerd":      {"docker-overlay", "Docker version 9.9.9, build 1234567"},
	qemu:           {"vm-vxlan", ""},
}

// A daemon that is never ready takes its network along, with its last words, and no
// other. Nothing is left of it, though it has started others and written files.
//
// A virtual machine may take two minutes. So QEMU, which runs on as the others do,
// lets go of the port on which its guest is waited for; that the wait itself ends is
// a test of package vm.
func TestDaemonNeverReady(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: some daemons are waited for half a minute")
	}
	for daemon, d := range idle {
		t.Run(daemon, func(t *testing.T) {
			last, why := "", "not (ready|so) within "
			switch daemon {
			case "dockerd":
				needDocker(t)
			case qemu:
				last, why = "exec 3>&-", `the guest did not start \(`
				if err := guestErr(); err != nil {
					t.Skip(err)
				}
			default:
				needDaemon(t, daemon)
			}
			t.Parallel()
			tmp, state := t.TempDir(), newStateDirs(t)
			program(t, filepath.Join(tmp, "bin", daemon), `case "$1" in --version | -version) echo '`+d.version+`'; exit ;; esac
mktemp >/dev/null
setsid sleep 1000 3>&- &
trap '' TERM INT HUP
echo 'my last words' >&2
`+last+`
while :; do sleep 1000; done
`)
			dir := filepath.Join(tmp, "out")
			p := start(t, append(state.env(), "PATH="+filepath.Join(tmp, "bin")+":"+os.Getenv("PATH")), withDaemons(d.network, dir, "1")...)
			if got := p.statusWithin(t, slow); got != 3 {
				t.Errorf("status %d, want 3\n%s", got, &p.stderr)
			}
			state.empty(t)
			for _, r := range results(t, dir) {
				if r.Config["network"] == "host" {
					if r.Status != record.OK {
						t.Errorf("%s: %s %s", r.Trial, r.Status, r.Reason)
					}
					continue
				}
				if r.Status != record.Skipped || !regexp.MustCompile(why).MatchString(r.Reason) || !strings.Contains(r.Reason, "my last words") {
					t.Errorf("%s: %s %s", r.Trial, r.Status, r.Reason)
				}
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
