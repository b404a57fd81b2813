package outagetest

import (
	"fmt"
	"net"
	"slices"
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
	up := link((*netlink.Handle).LinkSetUp)
	all[0].cut = link((*netlink.Handle).LinkSetDown)
	all[0].restore = func(t *testing.T, l *lab, of map[string]*process) {
		up(t, l, of)
		l.knows(t, router, "far", server, "eth0", addresses[server]) // a router that asks too early asks again after a second
	}
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
		t.Run(p.name, func(t *testing.T) { judged(t, func() []string { return missed(t, p) }) })
	}
}

// judged fails if what is measured is wrong in each of three rounds: a machine that stands still for a moment makes an outage
// of its own.
func judged(t *testing.T, measure func() (wrong []string)) {
	t.Helper()
	fail := nstest.Judge(t)
	var wrong []string
	for range 3 {
		if wrong = measure(); len(wrong) == 0 {
			return
		}
		t.Log(strings.Join(wrong, "; "))
	}
	fail("%s", strings.Join(wrong, "; "))
}

// missed plants outages of all lengths, and returns what the engine got wrong.
func missed(t *testing.T, p plant) (wrong []string) {
	t.Helper()
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
		want := done
		if !way.want {
			want = nil
		}
		for _, w := range compare(t, p.name+" "+name, way.gaps, want, r.ClientPause) {
			wrong = append(wrong, name+": "+w)
		}
		if extra := way.gaps.Count - int64(len(want)); extra > 0 && p.name != "relay" { // a program that waits for a CPU is part of that path
			wrong = append(wrong, fmt.Sprintf("%s: %d outages of %d: %+v", name, way.gaps.Count, len(want), way.gaps.List))
		}
	}
	return wrong
}

// pause is the length of what a test plants, not a wait for something.
func pause(d time.Duration) { time.Sleep(d) }

// compare says what is wrong with the gaps of a way. A sender that paused for long, as it says, knows no edge better than that.
func compare(t *testing.T, kind string, g event.Gaps, want []planted, paused int64) (wrong []string) {
	t.Helper()
	near := int64(time.Millisecond)
	if paused > 2*near {
		near += paused
	}
	for _, x := range want {
		i := slices.IndexFunc(g.List, func(f event.Gap) bool { return f.Begin < x.repaired && f.End > x.cut })
		if i < 0 {
			wrong = append(wrong, fmt.Sprintf("an outage of %.3f ms was not found", ms(x.repair-x.wasCut)))
			continue
		}
		f := g.List[i]
		least, most := x.repair-x.wasCut, x.repaired-x.cut
		tolerance := max(int64(time.Millisecond), most/50)
		t.Logf("%s: planted %.3f..%.3f ms, found %.3f, begin %+.3f after %.3f, end %+.3f after %.3f, lost %+v", kind,
			ms(least), ms(most), ms(f.Length), ms(f.Begin-x.cut), ms(x.wasCut-x.cut), ms(f.End-x.repair), ms(x.repaired-x.repair), f.Lost)
		if f.Length < least-tolerance-2*(near-int64(time.Millisecond)) || f.Length > most+tolerance || f.Begin < x.cut-near || f.Begin > x.wasCut+near || f.End < x.repair-near || f.End > x.repaired+near {
			wrong = append(wrong, fmt.Sprintf("of %.3f to %.3f ms, found %.3f", ms(least), ms(most), ms(f.Length)))
		}
	}
	return wrong
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }

// paused returns for how long the programs of a workload, as they say, did nothing: a response that waits for one of them looks
// like an outage that long.
func paused(r event.Outages) int64 { return r.ClientPause + r.ServerPause }

func longerThan(least int64, g event.Gaps) []event.Gap {
	return slices.DeleteFunc(slices.Clone(g.List), func(f event.Gap) bool { return f.Length <= least })
}

// interrupted runs a workload in which the path is cut for 100 ms.
func interrupted[T any](t *testing.T, p plant, order ...string) (r T, x planted) {
	t.Helper()
	l := newLab(t)
	of := map[string]*process{"server": l.start(t, server, "serve", serving, "--open", "--json"), "client": l.start(t, client, "agent")}
	of["server"].next(t)
	r = run[T](t, of["client"], func() {
		pause(between)
		x.cut = now()
		p.cut(t, l, of)
		x.wasCut = now()
		pause(100 * time.Millisecond)
		x.repair = now()
		p.restore(t, l, of)
		x.repaired = now()
	}, order...)
	return r, x
}

// An outage of a connection begins with the path's and lasts until TCP has sent again, and the kernel says by which timer. A
// reset ends the connection: a result.
func TestTCPOutages(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, p := range plants()[1:3] {
		t.Run(p.name, func(t *testing.T) {
			judged(t, func() (wrong []string) {
				r, x := interrupted[event.TCPOutages](t, p, "tcp-outage", serving, "--duration", "1s", "--warmup", "100ms", "--cc", "reno")
				must(t, r.Check())
				near := 3*int64(time.Millisecond) + paused(r.Outages) // the limit at this rate
				if g := longerThan(paused(r.Outages), r.RoundTrip); len(g) != 1 || g[0].Begin < x.cut-near || g[0].Begin > x.wasCut+near || g[0].End < x.repair-near || g[0].After || r.Lost.Sum() > 0 || r.Broken != nil {
					wrong = append(wrong, fmt.Sprintf("%+v, want one outage from %d on until %d or later", r.RoundTrip, x.cut, x.repair))
				}
				sent := r.Timers
				if p.name == "back" {
					sent = r.ServerTimers
				}
				if r.Timers != nil && (sent == nil || sent.Timeouts < 1) {
					wrong = append(wrong, fmt.Sprintf("client %+v, server %+v, want a retransmission timeout", r.Timers, r.ServerTimers))
				}
				return wrong
			})
		})
	}
	t.Run("reset", func(t *testing.T) {
		l := newLab(t)
		of := map[string]*process{"server": l.start(t, server, "serve", serving, "--open", "--json"), "client": l.start(t, client, "agent")}
		of["server"].next(t)
		var killed int64
		r := run[event.TCPOutages](t, of["client"], func() {
			pause(between)
			killed = now()
			must(t, of["server"].Process.Kill())
		}, "tcp-outage", serving, "--duration", "500ms", "--cc", "reno")
		if g := r.RoundTrip.List; r.Check() != nil || r.Broken == nil || r.Broken.At < killed || len(g) == 0 || !g[len(g)-1].After || r.Lost.Unknown == 0 {
			t.Errorf("%+v, broken %+v (%v)", r.RoundTrip, r.Broken, r.Check())
		}
	})
}

// New connections show an outage as long as the path's, although those that began in it take a second.
func TestConnectOutages(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, p := range plants()[1:3] {
		t.Run(p.name, func(t *testing.T) {
			judged(t, func() (wrong []string) {
				r, x := interrupted[event.ConnectOutages](t, p, "connect-outage", serving, "--duration", "1.5s", "--warmup", "100ms")
				must(t, r.Check())
				near := 6*int64(time.Millisecond) + paused(r.Outages) // the limit at this rate
				if g := longerThan(paused(r.Outages), r.RoundTrip); len(g) != 1 || g[0].Begin < x.cut-near || g[0].Begin > x.wasCut+near || g[0].End < x.repair-near || g[0].End > x.repaired+near {
					wrong = append(wrong, fmt.Sprintf("%+v, want one outage from %d to %d", r.RoundTrip, x.cut, x.repair))
				}
				if r.Slow < 20 || r.Lost.Sum() > 0 || len(r.Errors) > 0 {
					wrong = append(wrong, fmt.Sprintf("%d slow, %d lost, failed: %v; want some 50 slow", r.Slow, r.Lost.Sum(), r.Errors))
				}
				return wrong
			})
		})
	}
}
