package lab

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 6 && os.Args[2] == "rsh" { // a program of a node started this one as /proc/PID/exe
		fmt.Fprintln(os.Stderr, Rsh(os.Args[3], os.Args[4], os.Args[6:]))
		os.Exit(1)
	}
	_ = flag.Set("test.parallel", "8") // parallel tests wait
	nstest.Main(m, func(args []string) int {
		switch args[0] {
		case "host": // init
			if err := hostns.Main(args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		case "daemon":
			return daemon(args[1:])
		case "hang": // until signaled
			os.Stdout.WriteString("hanging\n")
			hang()
		case "devices":
			b, err := os.ReadFile("/proc/net/dev")
			if err != nil {
				return 1
			}
			os.Stdout.Write(b)
		}
		return 0
	})
}

func open(t *testing.T, names ...string) *target.Site {
	t.Helper()
	nstest.Need(t)
	s, err := Open(t.Context(), names, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func wire(mtu int) []plan.Step {
	return []plan.Step{
		{In: "a", Link: &plan.Link{Name: "e0", Kind: "veth", MTU: mtu, Peer: "e0", PeerIn: "b"}},
		{In: "a", Addr: &plan.Addr{Dev: "e0", Prefix: netip.MustParsePrefix("198.18.0.1/24")}},
		{In: "b", Addr: &plan.Addr{Dev: "e0", Prefix: netip.MustParsePrefix("198.18.0.2/24")}},
	}
}

func TestSupports(t *testing.T) {
	nstest.Need(t)
	fs, err := Supports(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fs {
		if (errors.Is(f.Err, ErrUnsupported) || f.Name == ovsFeature || f.Name == tapFeature) && !f.Needed {
			t.Logf("%s: %v", f.Name, f.Err)
		} else if f.Err != nil {
			t.Errorf("%s: %v", f.Name, f.Err)
		}
	}
}

func TestVerify(t *testing.T) {
	s := open(t, "a", "b")
	if err := s.Apply(t.Context(), wire(1400)); err != nil {
		t.Fatal(err)
	}
	off := plan.Step{In: "a", Offload: &plan.Offload{Dev: "e0", Features: map[string]bool{"tx-tcp-segmentation": false}}}
	if err := s.Apply(t.Context(), []plan.Step{off}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		state plan.State
		want  string // part of the error, "" for none
	}{
		{"mtu holds", plan.State{In: "b", Dev: "e0", MTU: 1400}, ""},
		{"mtu differs", plan.State{In: "b", Dev: "e0", MTU: 1500}, "b: MTU of e0 is 1400, expected 1500"},
		{"offload holds", plan.State{In: "a", Dev: "e0", Offload: map[string]bool{"tx-tcp-segmentation": false}}, ""},
		{"offload differs", plan.State{In: "b", Dev: "e0", Offload: map[string]bool{"tx-tcp-segmentation": false}}, "tx-tcp-segmentation of e0 is true, expected false"},
		{"no device", plan.State{In: "a", Dev: "e1", MTU: 1400}, "device e1"},
		{"no place", plan.State{In: "c", Dev: "e0", MTU: 1400}, `unknown place "c": want one of [a b]`},
	} {
		err := s.Verify(t.Context(), []plan.State{c.state})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// A step without a rate also removes a limit that tc(8) has set, in a step of the study's own.
func TestRemoveLimitOfTC(t *testing.T) {
	if facts.Find("tc") == "" {
		t.Skip("no tc: install the package iproute2")
	}
	s := open(t, "a", "b")
	limit := plan.Step{In: "a", Exec: &plan.Exec{Argv: []string{"tc", "qdisc", "replace", "dev", "e0", "root", "tbf", "rate", "1gbit", "burst", "32kb", "limit", "1mb"}}}
	if err := s.Apply(t.Context(), append(wire(1500), limit, plan.Step{In: "a", Rate: &plan.Rate{Dev: "e0"}})); err != nil {
		t.Fatal(err)
	}
	show := plan.State{In: "a", Output: &plan.Output{Argv: []string{"tc", "qdisc", "show", "dev", "e0"}, Lines: []string{"noqueue"}}}
	if err := s.Verify(t.Context(), []plan.State{show}); err != nil {
		t.Error(err)
	}
}

func TestApplyNamesTheStep(t *testing.T) {
	s := open(t, "a", "b")
	for _, c := range []struct {
		step plan.Step
		want string
	}{
		{plan.Step{In: "a"}, "step 1 of 1, in a: the step is empty"},
		{plan.Step{In: "x", Set: &plan.Set{}}, `unknown place "x"`},
		{plan.Step{In: "a", Link: &plan.Link{Name: "l", Kind: "token-ring"}}, `kind "token-ring" is not one of bridge, dummy, geneve, ipip, ipvlan, macvlan, netkit, tap, veth, vlan, vxlan, wireguard`},
		{plan.Step{In: "a", Set: &plan.Set{Dev: "none", MTU: 1400}}, "set MTU of none to 1400"},
		{plan.Step{In: "a", Addr: &plan.Addr{Dev: "none", Prefix: netip.MustParsePrefix("198.18.0.1/24")}}, "address 198.18.0.1/24 on none"},
		{plan.Step{In: "a", Sysctl: &plan.Sysctl{Key: "net.ipv4.nonsense", Value: "1"}}, "sysctl net.ipv4.nonsense=1"},
		{plan.Step{In: "a", Offload: &plan.Offload{Dev: "none", Features: map[string]bool{"rx-gro": true}}}, "offload of none"},
	} {
		err := s.Apply(t.Context(), []plan.Step{c.step})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestRunStopsWhatItStarted(t *testing.T) {
	s := open(t, "a")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	out := firstWrite(func() { cancel(why) })
	if err := s.Nodes["a"].Run(ctx, target.Cmd{Argv: []string{"weir", "hang"}, Stdout: out}); !errors.Is(err, why) {
		t.Errorf("got %v, want the cause of the cancellation", err)
	}
	// TestMain fails if the process is still there.
}

// Run ends what a program leaves in another process group and session.
func TestRunEndsWhatWasLeft(t *testing.T) {
	t.Parallel()
	s := open(t, "a")
	var out bytes.Buffer
	err := s.Nodes["a"].Run(t.Context(), target.Cmd{Argv: []string{"sh", "-c", "setsid sleep 1000 & echo started"}, Stdout: &out})
	if err != nil || out.String() != "started\n" {
		t.Fatalf("%q, %v", &out, err)
	}
	// TestMain fails if the process is still there.
}

type firstWrite func()

func (f firstWrite) Write(b []byte) (int, error) { f(); return len(b), nil }

func TestRunIsInsideTheNamespace(t *testing.T) {
	s := open(t, "a", "b")
	if err := s.Apply(t.Context(), wire(1500)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.Nodes["b"].Run(t.Context(), target.Cmd{Argv: []string{"weir", "devices"}, Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	seen, err := fs.ReadFile(s.Nodes["b"].FS(), "proc/net/dev")
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.ReadFile("/proc/net/dev")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "e0:") || !bytes.Contains(seen, []byte("e0:")) || bytes.Contains(home, []byte("e0:")) {
		t.Errorf("e0 should be seen by the program and through FS, not at home:\n%s\n%s\n%s", &out, seen, home)
	}
}

func TestOpenIsCanceled(t *testing.T) {
	nstest.Need(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, []string{"a"}, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// BenchmarkOpenClose measures the cost of one host.
func BenchmarkOpenClose(b *testing.B) {
	nstest.Need(b)
	for b.Loop() {
		s, err := Open(b.Context(), []string{"a"}, "")
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// Processes of a place are in its network namespace, by whose number they are found.
func TestSpaces(t *testing.T) {
	s := open(t, "a", "b")
	spaces := s.Spaces()
	for _, name := range []string{"a", "b"} {
		var out bytes.Buffer
		if err := s.Nodes[name].Run(t.Context(), target.Cmd{Argv: []string{"readlink", "/proc/self/ns/net"}, Stdout: &out}); err != nil {
			t.Fatal(err)
		}
		if ns := sample.Inode(strings.TrimSpace(out.String())); spaces[ns] != name {
			t.Errorf("%s is in %s, which is %q of %v", name, ns, spaces[ns], spaces)
		}
	}
}
