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

// daemons maps networks to one of their daemons. BIRD would otherwise outlive the process that
// started it.
var daemons = map[string]string{"ovs": "ovs-vswitchd", "flannel-udp": "flanneld", "calico-bgp-datapath": "bird"}

// mortals maps daemons that die during a run to their networks.
var mortals = map[string]string{"ovs-vswitchd": "ovs", "ovsdb-server": "ovs", "flanneld": "flannel-udp", "etcd": "flannel-vxlan",
	"bird": "calico-bgp-datapath", "dockerd": "docker-bridge"}

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

// tunErr returns why no TAP device can be created here.
func tunErr() error {
	f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func withDaemons(network, dir, blocks string) []string {
	return []string{"run", "-n", "host," + network, "-p", "udp-rr", "--blocks", blocks, "--duration", "10ms", "--warmup", "0s", "--keep-disturbed", "-o", dir}
}

// running returns the last process of p that is the one named, once there is one.
func (p *process) running(t *testing.T, name string, is func(pid int, cmdline string) bool) (pid int) {
	t.Helper()
	eventually(t, name+" runs", func() bool {
		for _, line := range withEnv(p.mark) {
			number, cmdline, _ := strings.Cut(line, ": ")
			if n, err := strconv.Atoi(number); err == nil && is(n, cmdline) {
				pid = n
			}
		}
		return pid > 0
	})
	return pid
}

func (p *process) daemon(t *testing.T, name string) (pid int) {
	t.Helper()
	return p.running(t, name, func(_ int, cmdline string) bool {
		program, _, _ := strings.Cut(cmdline, " ")
		return strings.HasPrefix(filepath.Base(program), name)
	})
}

// If a daemon is killed during a run, its network's remaining trials fail with its last output, and
// the other network is measured to the end.
func TestDaemonDies(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
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

var qemu = map[string]string{"amd64": "qemu-system-x86_64", "arm64": "qemu-system-aarch64"}[runtime.GOARCH]

// idle lists daemons that start but are never ready, with their networks and the version that they
// print.
var idle = map[string]struct{ network, version string }{
	"ovs-vswitchd": {"ovs", "ovs-vswitchd (Open vSwitch) 9.9.9"},
	"flanneld":     {"flannel-udp", "v9.9.9"},
	"etcd":         {"flannel-vxlan", "etcd Version: 9.9.9"},
	"bird":         {"calico-bgp-datapath", "BIRD version 9.9.9"},
	"dockerd":      {"docker-overlay", "Docker version 9.9.9, build 1234567"},
	qemu:           {"vm-vxlan", ""},
}

// If a daemon is never ready, only its own network is skipped, with its last output. Nothing of it
// is left, although it has started other programs and written files.
//
// A virtual machine can take two minutes to start, so the fake QEMU, which keeps running like the
// others, closes the port on which weir waits for the guest. Package vm tests that the wait itself
// ends.
func TestDaemonNeverReady(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
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

func TestDaemonsEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
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
				if got := p.status(t); got != want { // waits until all processes are gone
					t.Errorf("status %d, want %d\n%s", got, want, &p.stderr)
				}
			})
		}
	}
}
