package packettrace

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/stat"
)

// A Recording is the input of New.
type Recording struct {
	Network, Client, Server string // the last two are nodes
	Mode                    string
	Why                     error // why no better mode is available
	Size                    int   // bytes of a request
	Count                   int   // requests to use: the latest of each round
	Rounds                  []Round
}

// A Round is two runs and a cost, one right after the other, so that they meet the machine in the same state.
type Round struct {
	// Stamps is the median of what the sockets' stamps say of the path, s, in a run without a trace.
	Stamps float64
	// Events are those of a run with a trace, without Lost ones. StampsTraced is what the stamps say of this
	// run: by how much it is longer than the events' path, the stamps lie further apart than the first and the
	// last event.
	Events       []Event
	Lost         int
	StampsTraced float64
	Cost, Entry  float64 // of an event, s; see Cost
}

// ErrNothing means that a recording holds no request with its reply.
var ErrNothing = errors.New("no request was traced to its reply")

// New makes a trace of a recording.
func New(r Recording) (Trace, error) {
	t := Trace{Format: Format, Network: r.Network, Client: r.Client, Server: r.Server, Size: r.Size, Mode: r.Mode}
	if r.Why != nil {
		t.Why = r.Why.Error()
	}
	var latest []transaction
	var drops []marked
	var stamps, before, again, costs, between []float64
	each := (r.Count + len(r.Rounds) - 1) / max(1, len(r.Rounds))
	for _, x := range r.Rounds {
		at := ends{r.Client, r.Server}
		all, lost := transactions(x.Events, at)
		drops, costs, t.Lost = append(drops, lost...), append(costs, x.Cost), t.Lost+x.Lost
		if x.Stamps > 0 {
			stamps = append(stamps, x.Stamps)
		}
		stamped := slices.DeleteFunc(slices.Clone(all), func(y transaction) bool { return !y.request[0].stamped })
		if plain := slices.DeleteFunc(slices.Clone(all), func(y transaction) bool { return y.request[0].stamped }); len(plain) > 0 {
			all = plain
		}
		latest = append(latest, all[max(0, len(all)-each):]...)
		if x.StampsTraced > 0 && len(stamped) > 0 {
			stamped = usual(stamped)
			path := stat.LowerMiddle(paths(stamped))
			before, again = append(before, x.StampsTraced-path-stat.LowerMiddle(warms(stamped))-2*x.Entry), append(again, path-stat.LowerMiddle(paths(usual(all))))
		}
	}
	t.Drops, t.Stamps, t.Before, t.Again = gone(drops), stat.LowerMiddle(stamps), max(0, stat.LowerMiddle(before)), max(0, stat.LowerMiddle(again))
	same := usual(latest)
	if len(same) == 0 {
		return t, fmt.Errorf("%w in %d rounds; does %s answer?", ErrNothing, len(r.Rounds), r.Server)
	}
	t.Requests, t.Usual = len(latest), len(same)
	t.Event = stat.LowerMiddle(costs)
	pick := func(of func(transaction) pass) []pass {
		ps := make([]pass, len(same))
		for i, x := range same {
			ps[i] = of(x)
		}
		return ps
	}
	requests, replies := pick(func(x transaction) pass { return x.request }), pick(func(x transaction) pass { return x.reply })
	t.Request, t.Reply = way(requests, t.Event), way(replies, t.Event)
	var program []float64
	for _, x := range same {
		program = append(program, seconds(x.reply[0].At-x.reply[0].Warm-x.request[len(x.request)-1].At)) // both on the server's node
	}
	t.Request.Program = max(0, stat.LowerMiddle(program)-t.Event)
	for _, x := range same {
		between = append(between, seconds(x.between()))
	}
	if t.TwoMachines = same[0].request.crossing() > 0; t.TwoMachines {
		t.Between = max(0, stat.LowerMiddle(between)-2*t.Event) // one event on each machine: the last before a packet leaves it
	}
	t.Traced = stat.LowerMiddle(paths(same))
	t.Events = same[0].events()
	t.Path = t.Traced - float64(t.Events)*t.Event
	return t, nil
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// events counts those whose cost is in the time of both paths, with those before a packet leaves a machine.
func (x transaction) events() int {
	n := x.request.events() + x.reply.events()
	if x.request.crossing() > 0 {
		n += 2
	}
	return n
}

// events counts those whose cost is in path: the first of each interval, unless both have one stamp. Packet sockets show
// a packet behind a tunnel's device with the stamp with which it entered the machine.
func (p pass) events() (n int) {
	for i := range p.last() {
		if p.step(i+1) != 0 {
			n++
		}
	}
	return n
}

// path is the time of a pass up to its last event that counts, without the time between machines, ns.
func (p pass) path() (sum int64) {
	for i := range p.last() {
		sum += p.step(i + 1)
	}
	return sum
}

// warm is the time that warm events took in path and just before it, ns.
func (p pass) warm() (sum int64) {
	for _, m := range p[:p.last()+1] {
		sum += m.Warm
	}
	return sum
}

// paths returns the times of both ways together, s.
func paths(of []transaction) (v []float64) {
	for _, x := range of {
		v = append(v, seconds(x.request.path()+x.reply.path()+x.between()))
	}
	return v
}

// warms is paths of the time that warm events took.
func warms(of []transaction) (v []float64) {
	for _, x := range of {
		v = append(v, seconds(x.request.warm()+x.reply.warm()))
	}
	return v
}

// way returns the hops that all passes have in common.
func way(ps []pass, event float64) Way {
	var w Way
	first, last, sum := ps[0], ps[0].last(), 0.0
	for i, m := range first {
		h := Hop{Node: m.Node, Dev: m.Dev, Kind: m.Kind, Last: i == last}
		switch {
		case i == 0:
		case i == first.crossing():
			h.Does = DoesWire
		default:
			var v []float64
			for _, p := range ps {
				v = append(v, seconds(p.step(i)))
			}
			h.Does, h.Other = does(first[i-1], m), another(first[i-1], m)
			h.Time = max(0, stat.LowerMiddle(v)-event) // the shortest hops take less than the cost varies
			sum += h.Time
		}
		h.At = sum
		w.Hops = append(w.Hops, h)
	}
	var whole []float64
	for _, p := range ps {
		whole = append(whole, seconds(p.path()))
	}
	w.Path = max(0, stat.LowerMiddle(whole)-float64(first.events())*event)
	return w
}

// gone counts drops by place and reason, the most frequent first.
func gone(drops []marked) (all []Gone) {
	for _, d := range drops {
		i := slices.IndexFunc(all, func(g Gone) bool { return g.Node == d.Node && g.Dev == d.Dev && g.Reason == d.Reason })
		if i < 0 {
			i, all = len(all), append(all, Gone{d.Node, d.Dev, d.Reason, 0})
		}
		all[i].Packets++
	}
	slices.SortStableFunc(all, func(a, b Gone) int { return b.Packets - a.Packets })
	return all
}

// Complete reports whether a recording has enough requests for New.
func Complete(events []Event, client, server string, count int) bool {
	all, _ := transactions(events, ends{client, server})
	return len(all) >= count
}

// Parse reads a Trace from its file.
func Parse(b []byte) (t Trace, err error) {
	if err := bounds.JSON(b, &t); err != nil {
		return t, err
	}
	if t.Format != Format {
		return t, fmt.Errorf("trace has format %d, this version of weir reads %d", t.Format, Format)
	}
	if t.Events == 0 && t.Event > 0 { // of an older version
		t.Events = int(math.Round((t.Traced - t.Path) / t.Event))
	}
	return t, nil
}
