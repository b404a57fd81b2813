package lab

import (
	"net/netip"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
)

// A device that an event has changed is what it was: when the event is undone, and when the machine's agent ends before.
func TestMachine(t *testing.T) {
	nstest.Need(t)
	runtime.LockOSThread() // never unlocked: the thread ends with its namespace
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	ip := func(args string) string {
		t.Helper()
		out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
		if err != nil {
			t.Fatalf("ip %s: %v: %s", args, err, out)
		}
		return string(out)
	}
	for _, args := range []string{"link add d0 type veth peer name e0", "link add link d0 name v0 type macvlan mode bridge", "link add d1 type veth peer name e1", "link set e0 up", "link set e1 up", "link set d1 up", "link set d0 up", "link set v0 up",
		"addr add 192.0.2.1/24 dev d0", "addr add 2001:db8::1/64 dev d0 nodad", "addr add 198.51.100.1/24 dev v0", "addr add 192.0.2.129/25 dev d1",
		"route add 203.0.113.0/24 via 192.0.2.2", "route add 10.9.0.0/16 via 198.51.100.2 dev v0", "route add 2001:db8:1::/48 via 2001:db8::2",
		"route add 10.8.0.0/16 nexthop via 192.0.2.2 nexthop via 198.51.100.2", "route add 10.7.0.0/16 via 192.0.2.130 dev d1", "route add 10.6.0.0/16 via 192.0.2.3 proto bird"} {
		ip(args)
	}
	state := func() string {
		rules, err := exec.Command("nft", "list", "ruleset").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, rules)
		}
		queues, err := exec.Command("tc", "qdisc", "show", "dev", "d0").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, queues)
		}
		return string(rules) + string(queues) + ip("-4 addr") + ip("-6 addr show dev d0 scope global") + ip("-4 route") + ip("-6 route show 2001:db8:1::/48")
	}
	before := state()
	prefix := netip.MustParsePrefix
	for name, steps := range map[string][]plan.Step{
		"down":    {{Set: &plan.Set{Dev: "d0", Down: true}}},
		"MTU":     {{Set: &plan.Set{Dev: "d0", MTU: 1000}}},
		"address": {{Addr: &plan.Addr{Dev: "d0", Prefix: prefix("192.0.2.1/24"), Gone: true}}, {Addr: &plan.Addr{Dev: "d0", Prefix: prefix("192.0.2.9/24")}}},
		"route":   {{Route: &plan.Route{Dst: prefix("203.0.113.0/24"), Via: netip.MustParseAddr("192.0.2.2"), Dev: "d0", Gone: true}}},
		"moved":   {{Route: &plan.Route{Dst: prefix("10.7.0.0/16"), Dev: "d0"}}, {Route: &plan.Route{Dst: prefix("10.5.0.0/16"), Dev: "d0"}}},
		"rate":    {{Rate: &plan.Rate{Dev: "d0", Rate: 1e9}}, {Rate: &plan.Rate{Dev: "d0", Rate: 1e6}}},
		"drop":    {{Drop: &plan.Drop{Dev: "d0"}}, {Drop: &plan.Drop{Dev: "d0", With: prefix("2001:db8::2/128")}}},
		"both":    {{Set: &plan.Set{Dev: "d0", Down: true}}, {Set: &plan.Set{Dev: "d1", Down: true}}},
	} {
		for _, undo := range []bool{true, false} {
			var m Machine
			for _, s := range steps {
				if err := m.Step(t.Context(), s); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if same(state(), before) {
				t.Errorf("%s changes nothing", name)
			}
			for _, s := range steps {
				if undo {
					if err := m.Step(t.Context(), plan.Step{Restore: &plan.Restore{Dev: s.Device()}}); err != nil {
						t.Errorf("%s: undo: %v", name, err)
					}
				}
			}
			if after := state(); undo && !same(after, before) {
				t.Errorf("%s: undone:\n%s\nbefore:\n%s", name, after, before)
			}
			if err := m.Close(); err != nil {
				t.Errorf("%s: close: %v", name, err)
			}
			if after := state(); !same(after, before) {
				t.Errorf("%s: closed:\n%s\nbefore:\n%s", name, after, before)
			}
		}
	}
	if out, err := exec.Command("tc", "qdisc", "add", "dev", "d1", "root", "handle", "5:", "pfifo", "limit", "10").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var m Machine
	for want, s := range map[string]plan.Step{
		"rate 1e+06 bit/s on d1: somebody has given it a queue of pfifo": {Rate: &plan.Rate{Dev: "d1", Rate: 1e6}},
		"drop packets at d9: no such device":                             {Drop: &plan.Drop{Dev: "d9"}},
		"no such device":                                                 {Set: &plan.Set{Dev: "d9", Down: true}},
		"only devices of this":                                           {Sysctl: &plan.Sysctl{Key: "net.ipv4.ip_forward", Value: "1"}},
	} {
		if err := m.Step(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", s, err, want)
		}
	}
	if err := m.Step(t.Context(), plan.Step{Restore: &plan.Restore{Dev: "d9"}}); err != nil { // nothing has changed
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// passing is what ip(8) prints of a device that is not of its settings, and can lag behind: its carrier.
var passing = regexp.MustCompile(`(NO-CARRIER|LOWER_UP|M-DOWN),?|,(LOWER_UP|M-DOWN)|state [A-Z]+| (dead|linkdown)\b`)

// same compares what ip(8) prints, whatever the order of its lines; routes of a daemon are the daemon's.
func same(a, b string) bool {
	lines := func(s string) (all []string) {
		for l := range strings.Lines(s) {
			if !strings.Contains(l, "proto bird") {
				all = append(all, strings.Join(strings.Fields(passing.ReplaceAllString(l, "")), " "))
			}
		}
		slices.Sort(all)
		return all
	}
	return slices.Equal(lines(a), lines(b))
}
