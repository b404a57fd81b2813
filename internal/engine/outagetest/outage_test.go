package outagetest

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/nstest"
)

// A plant breaks a path and repairs it.
type plant struct {
	name         string
	through      string // address that the client calls
	round        bool   // the round trip is to show it
	there, back  bool   // the way
	cut, restore func(t *testing.T, l *lab, of map[string]*process)
}

func blackhole(address string) (cut, restore func(t *testing.T, l *lab, _ map[string]*process)) {
	ip, _, _ := net.ParseCIDR(address)
	route := &netlink.Route{Type: unix.RTN_BLACKHOLE, Dst: &net.IPNet{IP: ip, Mask: net.CIDRMask(32, 32)}}
	return func(t *testing.T, l *lab, _ map[string]*process) { must(t, l.nl[router].RouteAdd(route)) },
		func(t *testing.T, l *lab, _ map[string]*process) { must(t, l.nl[router].RouteDel(route)) }
}

func stop(name string) (cut, restore func(t *testing.T, l *lab, of map[string]*process)) {
	return func(t *testing.T, _ *lab, of map[string]*process) { must(t, of[name].Process.Signal(syscall.SIGSTOP)) },
		func(t *testing.T, _ *lab, of map[string]*process) { must(t, of[name].Process.Signal(syscall.SIGCONT)) }
}

func plants() []plant {
	all := []plant{
		{name: "link", through: serving, round: true, there: true},
		{name: "there", through: serving, round: true, there: true},
		{name: "back", through: serving, round: true, back: true},
		{name: "relay", through: relayed, round: true, there: true},
		{name: "client", through: serving},
		{name: "server", through: serving},
	}
	link := func(set func(*netlink.Handle, netlink.Link) error) func(t *testing.T, l *lab, _ map[string]*process) {
		return func(t *testing.T, l *lab, _ map[string]*process) {
			far, err := l.nl[router].LinkByName("far")
			must(t, err)
			must(t, set(l.nl[router], far))
		}
	}
	all[0].cut, all[0].restore = link((*netlink.Handle).LinkSetDown), link((*netlink.Handle).LinkSetUp)
	all[1].cut, all[1].restore = blackhole(addresses[server])
	all[2].cut, all[2].restore = blackhole(addresses[client])
	for i, name := range []string{"relay", "client", "server"} {
		all[3+i].cut, all[3+i].restore = stop(name)
	}
	return all
}

// A planted outage: the path was cut between two moments, and repaired between two others.
type planted struct{ cut, wasCut, repair, repaired int64 }

var lengths = []time.Duration{5 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond}

// between is the time from one planted outage to the next.
const between = 150 * time.Millisecond

// Outages of any length are recovered with their begin and end, on the right way, and what the engine does is none.
func TestPlantedOutages(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, p := range plants() {
		t.Run(p.name, func(t *testing.T) {
			fail := nstest.Judge(t)
			l := newLab(t)
			of := map[string]*process{"server": l.start(t, server, "serve", serving, "--open", "--json"), "client": l.start(t, client, "agent")}
			of["server"].next(t)
			of["relay"] = l.start(t, router, "relay", relayed, serving)
			of["relay"].next(t)
			var done []planted
			r := run[event.Outages](t, of["client"], func() {
				for _, d := range lengths {
					pause(between)
					x := planted{cut: now()}
					p.cut(t, l, of)
					x.wasCut = now()
					pause(d)
					x.repair = now()
					p.restore(t, l, of)
					x.repaired = now()
					done = append(done, x)
				}
			}, "udp-outage", p.through, "--duration", "1.6s", "--warmup", "100ms")
			must(t, r.Check())
			if p.name == "relay" {
				must(t, of["relay"].Process.Kill())
				for of["relay"].lines.Scan() {
					var from, to int64
					if _, err := fmt.Sscan(of["relay"].lines.Text(), &from, &to); err != nil {
						t.Fatal(err)
					}
					for i := range done {
						if x := &done[i]; from < x.repair && to > x.repair {
							x.repaired = max(x.repaired, to)
						}
					}
				}
			}
			for name, way := range map[string]struct {
				gaps event.Gaps
				want bool
			}{"round trip": {r.RoundTrip, p.round}, "there": {r.There, p.there}, "back": {r.Back, p.back}} {
				if !way.want {
					if way.gaps.Count > 0 {
						fail("%s: %+v, want none", name, way.gaps)
					}
					continue
				}
				if wrong := compare(t, p.name, way.gaps, done); wrong != "" {
					fail("%s: %s", name, wrong)
				}
			}
		})
	}
}

// pause is the length of what a test plants, not a wait for something.
func pause(d time.Duration) { time.Sleep(d) }

// compare says what is wrong with the gaps of a way.
func compare(t *testing.T, kind string, g event.Gaps, want []planted) string {
	var wrong []string
	for _, x := range want {
		var found *event.Gap
		for i := range g.List {
			if g.List[i].Begin < x.repaired && g.List[i].End > x.cut {
				found = &g.List[i]
			}
		}
		if found == nil {
			wrong = append(wrong, "none found of "+time.Duration(x.repair-x.wasCut).String())
			continue
		}
		least, most := x.repair-x.wasCut, x.repaired-x.cut
		tolerance := max(int64(time.Millisecond), most/50)
		t.Logf("PLANT %s planted %.3f..%.3f found %.3f begin %+.3f..%+.3f end %+.3f..%+.3f lost %+v", kind, ms(least), ms(most), ms(found.Length),
			ms(found.Begin-x.wasCut), ms(found.Begin-x.cut), ms(found.End-x.repaired), ms(found.End-x.repair), found.Lost)
		if found.Length < least-tolerance || found.Length > most+tolerance || found.Begin < x.cut-1e6 || found.Begin > x.wasCut+1e6 || found.End < x.repair-1e6 || found.End > x.repaired+1e6 {
			wrong = append(wrong, "not within the tolerance: "+time.Duration(found.Length).String()+" of "+time.Duration(least).String())
		}
	}
	return strings.Join(wrong, "; ")
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }
