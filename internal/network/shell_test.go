package network_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/weir-bench/weir/internal/cni"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// These tests run the printed commands of plans for real, in new namespaces. The test binary runs
// itself in two more roles: inside, as root of a new user namespace, and as the programs that
// exchange packets.
const modeVar = "WEIR_NETWORK_TEST"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "weir" { // a command of a plan, such as weir cni add …
		exit(cni.Main(context.Background(), os.Args[2:], os.Stdout))
	}
	switch os.Getenv(modeVar) {
	case "echo":
		exit(echo(os.Args[1]))
	case "ask":
		exit(ask(os.Args[1], os.Args[2]))
	}
	os.Exit(m.Run())
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestShellBuilds runs itself again in new namespaces and builds the networks there.
func TestShellBuilds(t *testing.T) {
	if os.Getenv(modeVar) == "inside" {
		inside(t)
		return
	}
	for _, tool := range []string{"ip", "bridge", "ethtool", "mount", "sh", "sysctl", "tc", "wg"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v", err)
		}
	}
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestShellBuilds$", "-test.v")
	cmd.Env = append(os.Environ(), modeVar+"=inside")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		// Daemons end with the first process of a PID namespace.
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL) {
		t.Skipf("no user namespaces: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(out.String(), "--- PASS: TestShellBuilds/") {
		t.Fatalf("nothing was built:\n%s", out)
	}
	t.Logf("%s", out)
}

// inside builds every network that has a plan, sends packets of the path's full size, and checks
// the expectations of the plan.
func inside(t *testing.T) {
	run(t, nil, "mount", "-t", "proc", "proc", "/proc")
	programs(t)
	for _, d := range slices.Sorted(maps.Keys(drivers)) {
		if _, ok := drivers[d].(*network.CalicoNode); ok || strings.HasPrefix(d, "weave") || strings.HasPrefix(d, "cilium") {
			continue // no package has them, and they cannot be changed in place
		}
		for _, s := range []string{"1host-2pods", "2hosts", "2hosts-2pods", "3hosts", "ipv6", "ipv6-pods", "ipv6-underlay"} {
			if slices.Contains([]string{"2hosts-2pods", "ipv6-pods", "ipv6-underlay"}, s) && daemons(d) {
				continue // the other topologies cover these
			}
			if strings.HasPrefix(d, "docker") {
				continue // needs more than root of a user namespace; cmd/weir tests it
			}
			tp := shaped(t, d, specs[s])
			tp.NoOffload = s == "2hosts-2pods"
			if s == "ipv6" || s == "3hosts" {
				tp.Rate, tp.NIC = 1e9, "none"
			}
			p, err := network.Build(drivers[d], tp)
			if err != nil || startsWeir(p) {
				continue
			}
			other := tp
			other.MTU, other.Rate, other.NIC, other.NoOffload = 2000, 1e8, topo.NICTSO, len(tp.Hosts) > 1 && !tp.NoOffload
			changed, err := network.Build(drivers[d], other)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(d+"/"+s, func(t *testing.T) {
				needDaemons(t, p)
				home(t, network.Places(tp))
				build(t, p, network.Places(tp))
				try(t, p)
				if rebuilt(d) {
					if steps, err := plan.Diff(p, changed); !errors.Is(err, plan.ErrRebuild) {
						t.Errorf("steps %v, error %v", steps, err)
					}
				} else if s == "1host-2pods" || s == "2hosts" {
					change(t, p, changed, network.Places(tp))
				}
			})
		}
	}
}

// home mounts an empty /run, where ip(8) keeps the names of namespaces.
func home(t *testing.T, places []string) {
	t.Helper()
	run(t, nil, "mount", "-t", "tmpfs", "weir", "/run")
	t.Cleanup(func() {
		for _, place := range places {
			for _, word := range strings.Fields(string(run(t, nil, "ip", "netns", "pids", place))) {
				if pid, err := strconv.Atoi(word); err != nil || syscall.Kill(pid, syscall.SIGKILL) != nil {
					t.Errorf("daemon %s of %s: %v", word, place, err)
				}
			}
			run(t, nil, "ip", "netns", "del", place)
		}
		run(t, nil, "umount", "-l", "/run")
	})
}

// change turns p into changed, tests it, and checks that changing back restores the first state.
func change(t *testing.T, p, changed plan.Plan, places []string) {
	t.Helper()
	before := state(t, p, places)
	step(t, p, changed)
	try(t, changed)
	if slices.Equal(state(t, p, places), before) {
		t.Error("the change changed nothing")
	}
	step(t, changed, p)
	for i, line := range state(t, p, places) {
		if line != before[i] {
			t.Errorf("after changing and changing back: %q, before: %q", line, before[i])
		}
	}
	try(t, p)
}

// startsWeir reports whether p runs weir itself, which no test of this package provides. The tests
// of the program that it runs cover such a network.
func startsWeir(p plan.Plan) bool {
	return slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Service != nil && s.Service.Argv[0] == "weir" })
}

// build runs the commands of p, and skips the test if this kernel lacks a device kind that not all
// kernels have. "Unknown device type" is the kernel's own message (net/core/rtnetlink.c,
// __rtnl_newlink).
func build(t *testing.T, p plan.Plan, places []string) {
	t.Helper()
	rare := slices.ContainsFunc(p.Steps, func(s plan.Step) bool {
		return s.Link != nil && slices.Contains([]string{"dummy", "geneve", "ipip", "ipvlan", "netkit", "wireguard"}, s.Link.Kind)
	})
	var script bytes.Buffer
	if err := p.Shell(&script, places); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-e")
	cmd.Stdin = &script
	out, err := cmd.CombinedOutput()
	// The last two are of ip(8) before 6.8, which does not know netkit, and of ipvsadm(8).
	lacks := func(said string) bool { return bytes.Contains(out, []byte(said)) }
	if err != nil && rare && (lacks("Unknown device type") || lacks(`Garbage instead of arguments "mode`) || lacks("initialize ipvs")) {
		t.Skipf("not supported by this kernel: %s", bytes.TrimSpace(out))
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func shell(t *testing.T, p plan.Plan, places []string) {
	t.Helper()
	var script bytes.Buffer
	if err := p.Shell(&script, places); err != nil {
		t.Fatal(err)
	}
	run(t, &script, "sh", "-e")
}

func step(t *testing.T, from, to plan.Plan) {
	t.Helper()
	steps, err := plan.Diff(from, to)
	if err != nil {
		t.Fatal(err)
	}
	shell(t, plan.Plan{Steps: steps}, nil)
}

// state returns everything that conditions change, line by line: MTUs, rates and features.
func state(t *testing.T, p plan.Plan, places []string) []string {
	t.Helper()
	var lines []string
	add := func(at string, out []byte) {
		for line := range strings.Lines(string(out)) {
			lines = append(lines, at+": "+strings.TrimSpace(line))
		}
	}
	features := func(in, dev string) {
		add(in+" "+dev, run(t, nil, "ip", "netns", "exec", in, "ethtool", "-k", dev))
	}
	for _, in := range places {
		for line := range strings.Lines(string(run(t, nil, "ip", "-n", in, "-o", "link"))) {
			name := strings.Fields(line)[1]
			_, mtu, _ := strings.Cut(line, " mtu ")
			lines = append(lines, in+": "+name+" "+strings.Fields(mtu)[0])
		}
		add(in, run(t, nil, "tc", "-n", in, "qdisc"))
	}
	for _, s := range p.Steps {
		if s.Link != nil && s.Link.To == "" {
			features(s.In, s.Link.Name)
		}
		if s.Link != nil && s.Link.Peer != "" {
			features(s.Link.PeerIn, s.Link.Peer)
		}
	}
	return lines
}

// try sends packets between the ends and checks the expectations of p.
func try(t *testing.T, p plan.Plan) {
	t.Helper()
	first, last, err := p.Between("")
	if errors.Is(err, plan.ErrNoEnds) {
		return // a lone end has no peer
	}
	if err != nil {
		t.Fatal(err)
	}
	before := make([]int, len(p.Expect))
	for i, e := range p.Expect {
		if e.Dev != "" {
			_, before[i] = device(t, e)
		}
	}
	exchange(t, first, last, p.Path.MTU)
	exchange(t, last, first, p.Path.MTU)
	for i, e := range p.Expect {
		if e.Dev == "" {
			continue
		}
		mtu, bytes := device(t, e)
		checkOffload(t, e)
		if e.MTU != 0 && mtu != e.MTU {
			t.Errorf("%s in %s has MTU %d, expected %d", e.Dev, e.In, mtu, e.MTU)
		}
		// Two packets in each direction; the loopback device carries less than its MTU in each.
		passed := p.Path.TCPOnly && e.Dev == "lo" // these packets pass proxies by
		if sent := 4 * min(p.Path.MTU, 65507); e.MustCarry && !passed && e.Concerns(first, last) && bytes-before[i] < sent {
			t.Errorf("%s in %s carried %d bytes, the probes sent %d", e.Dev, e.In, bytes-before[i], sent)
		}
	}
}

// device returns the MTU of e's device and the bytes that it has moved.
func device(t *testing.T, e plan.Expect) (mtu, bytes int) {
	t.Helper()
	var links []struct {
		MTU   int
		Stats struct{ RX, TX struct{ Bytes int } } `json:"stats64"`
	}
	out := run(t, nil, "ip", "-n", e.In, "-s", "-j", "link", "show", "dev", e.Dev)
	if err := json.Unmarshal(out, &links); err != nil || len(links) != 1 {
		t.Fatalf("%s in %s: %v: %s", e.Dev, e.In, err, out)
	}
	return links[0].MTU, links[0].Stats.RX.Bytes + links[0].Stats.TX.Bytes
}

func checkOffload(t *testing.T, e plan.Expect) {
	t.Helper()
	if len(e.Offload) == 0 {
		return
	}
	// ethtool(8) has its own name for these.
	renamed := map[string]string{"tx-generic-segmentation": "generic-segmentation-offload", "rx-gro": "generic-receive-offload"}
	is := map[string]bool{}
	for line := range strings.Lines(string(run(t, nil, "ip", "netns", "exec", e.In, "ethtool", "-k", e.Dev))) {
		if name, state, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			is[name] = strings.HasPrefix(state, "on")
		}
	}
	for name, want := range e.Offload {
		if other, ok := renamed[name]; ok {
			name = other
		}
		if got, ok := is[name]; !ok || got != want {
			t.Errorf("%s in %s: feature %s is %v (known: %v), expected %v", e.Dev, e.In, name, got, ok, want)
		}
	}
}

func run(t *testing.T, stdin io.Reader, argv ...string) []byte {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin = stdin
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return out
}
