package section

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/packettrace"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// mostWays is how many networks the picture of the paths has before the others fold.
const mostWays = 4

// wayFigure draws the devices that packets of networks passed, with what was measured of them; false if no trial saw any.
func (s source) wayFigure(id string, networks []string) (doc.Figure, bool) {
	v := chart.Strips{Unseen: say("not seen")}
	seen := false
	var alt []string
	for _, n := range networks {
		strip, known := s.strip(n)
		seen = seen || known
		v.Strips = append(v.Strips, strip)
		var places []string
		for _, p := range strip.Places {
			name := p.Name
			for _, x := range p.Stops {
				name += " " + x.Name
			}
			places = append(places, name)
		}
		alt = append(alt, say("%s: %s", n, prose.List(places)))
	}
	if !seen {
		return doc.Figure{}, false
	}
	v.Alt = say("%s.", prose.Alternatives(alt))
	f := doc.Figure{ID: id, Caption: say("The path of a packet, from the sender to the receiver"), Chart: v}
	if slices.ContainsFunc(s.Traces, func(t packettrace.Trace) bool { return len(t.Request.Hops) > 0 }) {
		f.Note = say("Times below devices are medians of traced requests.")
	}
	return f, true
}

// ways are the networks in the order of the picture: of many, the baseline and those that differ most come first.
func (s source) ways() []string {
	if len(s.p.Networks) <= mostWays {
		return s.p.Networks
	}
	return append(slices.DeleteFunc([]string{s.p.Baseline}, func(n string) bool { return n == "" }), s.byEffect()...)
}

// seenOn returns the evidence that shows a network's path: of trials that count, or else of others.
func (s source) seenOn(network string) (all []analysis.Observed) {
	for _, of := range []func(analysis.Row) []analysis.Observed{analysis.Row.Evidence, analysis.Row.WithoutValue} {
		for _, t := range s.p.Tables {
			r, _ := t.Row(network)
			for _, o := range of(r) {
				if o.Evidence.Sender.Node != "" || len(o.Evidence.Path) > 0 {
					all = append(all, o)
				}
			}
		}
		if all != nil {
			return all
		}
	}
	return nil
}

// strip is the path through one network; false if no trial saw a device of it.
func (s source) strip(network string) (out chart.Strip, seen bool) {
	out = chart.Strip{Name: network, Color: s.color(network), Sums: s.sums(network)}
	all := s.seenOn(network)
	if all == nil {
		out.Places = []chart.Stretch{{Name: say("sender")}, {Name: say("receiver")}}
		return out, false
	}
	first := all[0]
	hops := first.Evidence.Path
	if slices.ContainsFunc(all, func(o analysis.Observed) bool { return !samePath(hops, o.Evidence.Path) }) {
		out.Sums = prose.List(prose.NonEmpty(out.Sums, say("one of several paths")))
	}
	times := map[string]string{}
	for _, t := range s.Traces {
		if t.Network == network {
			hops = traced(t, hops, times)
		}
	}
	if len(hops) == 0 { // nothing but the ends
		hops = []evidence.Hop{{In: first.Evidence.Sender.Node}, {In: first.Evidence.Receiver.Node}}
	}
	out.Places = places(hops, first.Settings, times)
	s.mark(network, out.Places)
	out.Places[0].Name = say("%s: sender", out.Places[0].Name)
	last := len(out.Places) - 1
	out.Places[last].Name = say("%s: receiver", out.Places[last].Name)
	return out, hops[0].Dev != ""
}

// places groups devices by the namespace or machine that they are in.
func places(hops []evidence.Hop, settings *evidence.Settings, times map[string]string) (out []chart.Stretch) {
	for i, h := range hops {
		if i == 0 || hops[i-1].In != h.In {
			out = append(out, chart.Stretch{Name: h.In})
		}
		if h.Dev == "" {
			continue
		}
		p := &out[len(out)-1]
		kind, bridge := kindOf(settings, h)
		if between := h.By; len(p.Stops) > 0 && hops[i-1].Dev != h.Dev {
			before, _ := kindOf(settings, hops[i-1])
			if between == "" && bridge {
				between = say("bridge")
			}
			if between != "" && between != kind && between != before {
				p.Stops = append(p.Stops, chart.WayStop{Name: word(between), Plain: true})
			}
		}
		p.Stops = append(p.Stops, chart.WayStop{Name: h.Dev, Kind: kind, Time: times[h.In+" "+h.Dev]})
	}
	return out
}

// kindOf returns what kind of device a hop is, "" if unknown, and whether its namespace has a bridge.
func kindOf(settings *evidence.Settings, h evidence.Hop) (kind string, bridge bool) {
	if settings == nil {
		return "", false
	}
	for name, d := range settings.Places[h.In].Devices {
		bridge = bridge || d.Kind == "bridge"
		if name == h.Dev {
			kind = cmp.Or(d.Kind, say("NIC"))
		}
	}
	return kind, bridge
}

// traced adds the times of a trace by device, and returns the devices that it saw if they are others.
func traced(t packettrace.Trace, hops []evidence.Hop, times map[string]string) []evidence.Hop {
	stays := t.Request.Stays()
	if len(stays) == 0 {
		return hops
	}
	same := len(stays) == len(hops)
	var own []evidence.Hop
	for i, x := range stays {
		if x.Time > 0 {
			times[x.Node+" "+x.Dev] = unit.Format(x.Time, "s")
		}
		own = append(own, evidence.Hop{In: x.Node, Dev: x.Dev})
		same = same && hops[i].In == x.Node && hops[i].Dev == x.Dev
	}
	if same {
		return hops
	}
	return own
}

// samePath compares the devices of two paths, whatever their ends; answers of the other direction pass the same ones.
func samePath(a, b []evidence.Hop) bool {
	equal := func(x, y evidence.Hop) bool { return x.Dev == y.Dev }
	back := slices.Clone(b)
	slices.Reverse(back)
	return slices.EqualFunc(a, b, equal) || slices.EqualFunc(a, back, equal)
}

// sums are what was measured of a network's whole path. A number that depends on a condition does not describe the
// network alone.
func (s source) sums(network string) string {
	var parts []string
	counted := false
	for _, tables := range byProbe(s.p.Tables) {
		r, _ := tables[0].Row(network)
		counted = counted || slices.ContainsFunc(tables, func(t analysis.Table) bool { r, _ := t.Row(network); return r.Counted() > 0 })
		if len(tables) > 1 {
			continue
		}
		if x, ok := r.Split(); ok && len(parts) == 0 {
			parts = append(parts, say("%s: path %s, wake-up %s, programs %s", s.Short(tables[0].Probe), unit.Format(x.Path, "s"), unit.Format(x.Wake, "s"), unit.Format(x.App, "s")))
		}
	}
	if t := s.perDatagram(); t != nil {
		if r, ok := t.Row(network); ok && cheap(r) {
			parts = append(parts, say("CPU of a datagram: %s (%s)", unit.Format(r.Own.Value.Center, "s"), s.Short(t.Probe)))
		}
	}
	if !counted {
		return say("no result")
	}
	return prose.Alternatives(parts)
}

// perDatagram is the table of the probe by which most networks have a CPU time per datagram: one probe for all of them, so
// that they can be compared. It is nil without one.
func (s source) perDatagram() (most *analysis.Table) {
	networks := 0
	for _, tables := range byProbe(s.p.Tables) {
		n := 0
		for _, r := range tables[0].Rows {
			if cheap(r) {
				n++
			}
		}
		if len(tables) == 1 && n > networks {
			most, networks = &tables[0], n
		}
	}
	return most
}

// cheap reports whether a row has a CPU time per datagram, and loses so few that it is what a datagram costs.
func cheap(r analysis.Row) bool {
	return r.Own.Name.In(record.CPUOwnPerPacket) && r.Own.Value.Center > 0 && r.Lost.Center < costlyLoss
}

// costlyLoss is the share of lost packets from which CPU time per packet is not what a packet costs.
const costlyLoss = 0.1

// atPlace are short words for findings about a place that limits or changes packets.
var atPlace = map[string]string{
	"queue-limited": say("a queue limits"), "receive-window": say("the window limits"), "send-buffer": say("the send buffer limits"),
	"cpu-limit": say("a CPU limit"), "contention": say("waits for a CPU"), "fragmentation": say("fragments"), "mtu-too-small": say("too small"),
}

// mark puts findings with a place onto the strip.
func (s source) mark(network string, places []chart.Stretch) {
	put := func(at, text, tip string) {
		for i := range places {
			p := &places[i]
			badge := &p.Mark
			for n := range p.Stops {
				if at == p.Name+" "+p.Stops[n].Name && !p.Stops[n].Plain {
					badge, at = &p.Stops[n].Mark, p.Name
				}
			}
			if at == p.Name && !strings.Contains(badge.Text, text) {
				badge.Text, badge.Tip = prose.List(prose.NonEmpty(badge.Text, text)), prose.Sentences(badge.Tip, tip)
				return
			}
		}
	}
	for _, f := range s.Findings() {
		if !slices.ContainsFunc(f.Cells, func(c analysis.Cell) bool { return c.Network == network }) {
			continue
		}
		switch text := atPlace[f.Rule]; {
		case f.Number != nil && f.Number.Name == lang.T("lost"):
			put(f.Place, say("%s lost", prose.Percent(f.Number.Value.Center)), string(prose.Sentence(f.Say())))
		case text != "":
			put(f.Place, text, string(prose.Sentence(f.Say())))
		case f.Rule == "full-thread":
			s.full(f, network, func(at string) { put(at, say("a thread is full"), string(prose.Sentence(f.Say()))) })
		}
	}
}

// full visits the places of the threads that a finding calls full.
func (s source) full(f finding.Finding, network string, at func(place string)) {
	for t, r := range s.p.Rows() {
		if r.Network != network || !slices.ContainsFunc(f.Cells, func(c analysis.Cell) bool { return c.String() == t.Cell(*r).String() }) {
			continue
		}
		for _, x := range r.Threads() {
			if x.Full && strings.Contains(string(f.Subject), string(finding.Describe(x).Subject)) {
				at(x.Place)
			}
		}
	}
}
