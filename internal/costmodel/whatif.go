package costmodel

import (
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/stat"
)

// A Bound is what a network's encapsulation costs, and the most that a path without it would give. All
// costs are CPU time of the sending end per unit of work; all intervals are over blocks, and each holds by
// itself.
type Bound struct {
	analysis.Cell        // the encapsulated network, under one probe
	Unit          string `json:"unit"` // s/packet or s/byte
	Blocks        int    `json:"blocks"`

	Host          stat.Interval `json:"host"`              // cost on host
	Cost          stat.Interval `json:"cost"`              // cost on this network
	Encapsulation stat.Interval `json:"encapsulation"`     // vxlan − host
	Bridging      stat.Interval `json:"bridging,omitzero"` // 2 (bridge − host): veths and bridges of both hosts
	// Sum is host + Bridging + Encapsulation, and OfMeasured that ÷ Cost, paired. N is 0 if the run lacks
	// bridge.
	Sum        stat.Interval `json:"sum,omitzero"`
	OfMeasured stat.Interval `json:"ofMeasured,omitzero"`

	// Free is how many times as much work free encapsulation would let the sender do: Cost ÷ what remains.
	// Its upper end is at least that of Cost ÷ (host + Bridging), because what the sum lacks can be
	// encapsulation's. FreeAll is that of a free network: Cost ÷ Host. N of both is 0 if Why says why there
	// is no bound.
	Free    stat.Interval `json:"free,omitzero"`
	FreeAll stat.Interval `json:"freeAll,omitzero"`
	Why     lang.Text     `json:"why,omitempty"`

	// Limit is the thread that limits the network: one that fills a CPU, or the sender's if only other
	// programs keep it from filling one. nil if there is none: then Free is of CPU time alone and promises
	// no throughput. Inside reports whether Limit does the encapsulation; if it does not, free
	// encapsulation raises no throughput either.
	Limit  *Busy `json:"limit,omitempty"`
	Inside bool  `json:"inside,omitempty"`
	// Next is the busiest other thread, nil if no other uses much of a CPU; without a Limit, the busiest.
	// Most is how many times as much work it can do, at least 1, if free encapsulation would make it the
	// limit; otherwise Limit remains the limit, and Most is 0.
	Next *Busy   `json:"next,omitempty"`
	Most float64 `json:"most,omitempty"`

	// Rate is what arrived, units/s, and Saved the cores that free encapsulation would save at that rate.
	Rate  float64       `json:"rate"`
	Saved stat.Interval `json:"saved"`

	// Gain is what bridging the same pods without VXLAN delivered ÷ what this network delivered, and
	// GainCPU the ratio of costs, this network's ÷ bridged's. N is 0 if the run lacks bridged.
	Gain    stat.Interval `json:"gain,omitzero"`
	GainCPU stat.Interval `json:"gainCPU,omitzero"`
	// Verdict judges Free by Gained.
	Verdict Verdict `json:"verdict,omitempty"`
}

// NoneFull is why a guest has no bound if none of its threads is full.
var NoneFull = lang.T("no thread is full")

// A Verdict judges a prediction that the same run could refute.
type Verdict string

const (
	Stands  Verdict = "stands"
	Refuted Verdict = "refuted"
	Open    Verdict = "open" // the run does not decide
)

// The networks that take an overlay apart.
const (
	host    = "host"
	bridge  = "bridge"
	tunnel  = "vxlan"   // without pods
	Without = "bridged" // the overlay without its tunnel
)

// encapsulated lists the networks whose tunnel is that of the network vxlan. The clock of a sender in a
// guest does not contain the hosts' work. The path of others is host, the tunnel, and a veth and a bridge
// per host.
var encapsulated = []struct {
	name  string
	guest bool
}{{"vxlan-overlay", false}, {"vm-vxlan", true}}

// WhatIf returns what free encapsulation would give, by table of the run and network. Tables without host,
// vxlan and an encapsulated network have none.
func WhatIf(run *analysis.Run) (out []Bound) {
	if !slices.Contains(run.Networks, host) || !slices.Contains(run.Networks, tunnel) {
		return nil
	}
	costs := unitCosts(run)
	for i := range run.Tables {
		t := &run.Tables[i]
		for _, n := range encapsulated {
			row, ok := t.Row(n.name)
			of := func(network string) map[int]cost { return costs[cellKey(t.Probe, network, t.Config)] }
			if !ok || len(of(host)) == 0 || len(of(tunnel)) == 0 || len(of(n.name)) == 0 {
				continue
			}
			b := Bound{Cell: t.Cell(row), Unit: unitOf(t)}
			each := b.take(of, !n.guest)
			b.limit(row, n.guest)
			if b.bound(each); n.guest {
				b.boundGuest(each)
			}
			if b.Testable() {
				b.judge(of)
			}
			out = append(out, b)
		}
	}
	return out
}

// manyProbes is the number of probes beyond which sentences are about units of work instead.
const manyProbes = 3

// Leading returns the bounds that sentences are about: of several conditions of a network and a probe, the one in which
// free encapsulation would give most; of many probes of a network, one per unit of work.
func Leading(all []Bound) (out []Bound) {
	probes := map[string]map[string]bool{} // by network
	for _, b := range all {
		if probes[b.Network] == nil {
			probes[b.Network] = map[string]bool{}
		}
		probes[b.Network][b.Probe] = true
	}
	for _, b := range all {
		same := func(x Bound) bool {
			return x.Network == b.Network && (x.Probe == b.Probe || len(probes[b.Network]) > manyProbes && x.Unit == b.Unit)
		}
		switch i := slices.IndexFunc(out, same); {
		case i < 0:
			out = append(out, b)
		case b.Free.Center > out[i].Free.Center:
			out[i] = b
		}
	}
	return out
}

// cellKey identifies a cell.
func cellKey(probe, network string, config map[string]string) string {
	return probe + " " + network + " " + levels(config)
}

// unitCosts returns costs per packet of datagrams, and per byte of TCP, by cell and block.
func unitCosts(run *analysis.Run) map[string]map[int]cost {
	cells := map[string]*cell{}
	for r := range run.Results() {
		t, size, x, ok := observe(r)
		if !ok || !t.busy() {
			continue
		}
		units := size.Segments
		if t.Kind == TCP {
			units = size.Bytes
		}
		config := map[string]string{}
		for f, l := range r.Config {
			if f != analysis.Network && f != analysis.Probe && f != "pair" {
				config[f] = l
			}
		}
		k := cellKey(r.Config[analysis.Probe], r.Config[analysis.Network], config)
		if cells[k] == nil {
			cells[k] = &cell{size: size}
		}
		cells[k].add(r.Block, cost{x.sender / units, x.receiver / units, x.rate * units})
	}
	out := map[string]map[int]cost{}
	for k, c := range cells {
		out[k] = c.by
	}
	return out
}

// A reading returns the costs in one block, by network.
type reading func(network string) cost

func encapsulation(c reading) float64 { return c(tunnel).sender - c(host).sender }
func bridging(c reading) float64      { return 2 * (c(bridge).sender - c(host).sender) }
func baseline(c reading) float64      { return c(host).sender }

// perBlock computes a number from the costs of each block.
type perBlock func(of func(reading) float64) []float64

// take fills in the costs and their sum.
func (b *Bound) take(of func(string) map[int]cost, sum bool) perBlock {
	parts := []string{host, tunnel, b.Network}
	if sum = sum && len(of(bridge)) > 0; sum {
		parts = append(parts, bridge)
	}
	blocks := shared(of, parts...)
	b.Blocks = len(blocks)
	each := func(f func(reading) float64) (vs []float64) {
		for _, n := range blocks {
			vs = append(vs, f(func(network string) cost { return of(network)[n] }))
		}
		return vs
	}
	middle := func(f func(reading) float64) stat.Interval { return stat.Median(each(f), confidence) }
	b.Host, b.Cost = middle(baseline), middle(b.own)
	b.Encapsulation = middle(encapsulation)
	if sum {
		all := func(c reading) float64 { return baseline(c) + bridging(c) + encapsulation(c) }
		b.Bridging, b.Sum = middle(bridging), middle(all)
		b.OfMeasured = stat.Ratio(each(b.own), remaining(each(all)), confidence)
	}
	b.Rate = stat.Middle(each(func(c reading) float64 { return c(b.Network).rate }))
	b.Saved = b.Encapsulation.Scaled(b.Rate)
	return each
}

func (b *Bound) own(c reading) float64 { return c(b.Network).sender }

// remaining replaces values below 0, which noise leaves of small differences, by 0: a ratio to them is
// beyond every other. Without them, only blocks that suit a small ratio would count.
func remaining(vs []float64) []float64 {
	for i, v := range vs {
		vs[i] = max(0, v)
	}
	return vs
}

// tooNoisy is why there is no bound where too many blocks leave nothing of the path without encapsulation.
var tooNoisy = lang.T("the run is too noisy to show what would remain of the path")

// bound sets Free, or why there is none.
func (b *Bound) bound(each perBlock) {
	switch {
	case !b.Cost.Bounded():
		b.Why = lang.T("too few blocks for intervals")
	case b.Sum.N > 0 && (b.Sum.Hi < b.Cost.Lo || b.Cost.Hi < b.Sum.Lo):
		b.Why = lang.T("the sum of the segments is not the measured path")
	case !(b.Encapsulation.Lo > 0):
		b.Why = lang.T("the run shows no cost of encapsulation")
	default:
		own := each(b.own)
		b.Free = stat.Ratio(remaining(each(func(c reading) float64 { return b.own(c) - encapsulation(c) })), own, confidence)
		rest := b.Free
		if b.Sum.N > 0 {
			rest = stat.Ratio(remaining(each(func(c reading) float64 { return baseline(c) + bridging(c) })), own, confidence)
		}
		if !ended(b.Free) || !ended(rest) {
			b.Free, b.Why = stat.Interval{}, tooNoisy
			return
		}
		b.Free.Hi = max(b.Free.Hi, rest.Hi)
		b.FreeAll = stat.Ratio(each(baseline), own, confidence)
	}
}

// ended reports whether an interval has two finite ends: the upper one of a ratio to 0 is the largest number.
func ended(i stat.Interval) bool { return i.Bounded() && i.Hi < math.MaxFloat64 }

// boundGuest sets Free by the thread that carries a guest's packets on its host, because the guest's clock
// does not contain that work.
func (b *Bound) boundGuest(each perBlock) {
	b.Free, b.FreeAll, b.Cost = stat.Interval{}, stat.Interval{}, stat.Interval{}
	switch {
	case b.Why != "" && b.Why != tooNoisy: // that was about the guest's clock
		return
	case b.Limit == nil:
		b.Why = NoneFull
		return
	case !b.Inside:
		b.Why = lang.T("the thread that limits the network does not encapsulate")
		return
	}
	b.Why = ""
	whole := func(c reading) float64 { return b.Limit.Share.Center / c(b.Network).rate }
	b.Free = stat.Ratio(remaining(each(func(c reading) float64 { return whole(c) - encapsulation(c) })), each(whole), confidence)
	if !ended(b.Free) {
		b.Free, b.Why = stat.Interval{}, lang.T("encapsulation takes about as long alone as the whole path takes the thread that limits it")
	}
}

// shared returns the blocks in which all networks have a cost, sorted.
func shared(of func(string) map[int]cost, networks ...string) []int {
	var cells []*cell
	for _, n := range networks {
		cells = append(cells, &cell{by: of(n)})
	}
	return common(cells)
}

// Testable reports whether bridged is the network without its tunnel. Pods have a counterpart, and guests
// have none: bridged would differ from them by the guests, too.
func (b Bound) Testable() bool { return b.Cost.N > 0 }

// judge compares the prediction with the network that lacks the tunnel, if the run has it.
func (b *Bound) judge(of func(string) map[int]cost) {
	if len(of(Without)) == 0 {
		return
	}
	var rates, without, costs, fewer []float64
	for _, n := range shared(of, b.Network, Without) {
		x, y := of(b.Network)[n], of(Without)[n]
		rates, without = append(rates, x.rate), append(without, y.rate)
		costs, fewer = append(costs, x.sender), append(fewer, y.sender)
	}
	b.Gain, b.GainCPU = stat.Ratio(rates, without, confidence), stat.Ratio(fewer, costs, confidence)
	if gain, _ := b.Gained(); b.Free.Bounded() {
		b.Verdict = Within(gain, b.Free.Hi)
	}
}

// Within judges a gain by a bound on it. An interval above the bound refutes it. The bound stands if the
// estimate is not above it, unless the interval reaches from no gain to beyond the bound: it would then
// stand whatever is true.
func Within(gain stat.Interval, bound float64) Verdict {
	switch {
	case !gain.Bounded() || gain.Lo <= 1 && gain.Hi > bound:
		return Open
	case gain.Lo > bound:
		return Refuted
	case gain.Center <= bound:
		return Stands
	}
	return Open
}

// Gained returns what decides about Free: what bridged delivered, where the thread that encapsulates fills a
// CPU, and otherwise the work that it did per CPU time.
func (b Bound) Gained() (gain stat.Interval, delivered bool) {
	if b.Inside && b.Limit.Full {
		return b.Gain, true
	}
	return b.GainCPU, false
}
