package profile

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A Trial is a profile with what its trial measured.
type Trial struct {
	Config  map[string]string // network, probe and factor levels
	Block   int
	Unit    string  // of work: packet, transaction or KiB
	Work    float64 // units of work per second
	Clock   End     // CPU time of the engine's threads by their own clocks, cores
	Profile *Profile
}

// An End holds one number for each end of the traffic.
type End struct {
	Client float64 `json:"client"`
	Server float64 `json:"server"`
}

func (e End) sum() float64 { return e.Client + e.Server }

func (e End) plus(f End) End { return End{e.Client + f.Client, e.Server + f.Server} }

// TrialOf returns the trial of a result; false if it counted no work or has no clock.
func TrialOf(r *record.Result, p *Profile) (t Trial, ok bool) {
	value := func(k record.Key) float64 { v, _ := r.Value(k); return v.Value }
	t = Trial{Config: r.Config, Block: r.Block, Clock: End{value(record.CPUOwn.At("client")), value(record.CPUOwn.At("server"))}, Profile: p}
	_, datagrams := r.Get(record.Delivered) // TCP does not choose its packets
	switch {
	case datagrams && value(record.PacketRate.Whole()) > 0:
		t.Unit, t.Work = "packet", value(record.PacketRate.Whole())
	case value(record.Transactions.Whole()) > 0:
		t.Unit, t.Work = "transaction", value(record.Transactions.Whole())
	case value(record.Throughput.Whole()) > 0:
		t.Unit, t.Work = "KiB", value(record.Throughput.Whole())/8/1024
	}
	return t, t.Clock.sum() > 0 && t.Work > 0
}

// per returns n samples as ns per unit of work.
func (t Trial) per(n int) float64 { return t.Profile.cores(n) / t.Work * 1e9 }

// client and server are the names of the engine's processes, whose threads have a clock; the window is the client's.
const (
	client = "client"
	server = "server"
)

func (e End) times(x float64) End { return End{x * e.Client, x * e.Server} }

// of returns the number of a process; 1 for one that has no clock.
func (e End) of(process string) float64 {
	switch process {
	case client:
		return e.Client
	case server:
		return e.Server
	}
	return 1
}

// times returns the CPU time by layer, scaled by end, ns per unit of work.
func (t Trial) times(c *classifier, scale End) (by map[string]float64, sum float64) {
	by = map[string]float64{}
	for _, s := range t.Profile.Stacks {
		ns := t.per(s.Samples) * scale.of(s.process())
		by[c.of(s)] += ns
		sum += ns
	}
	return by, sum
}

// clock returns what the engine's threads say of their CPU time, ns per unit of work.
func (t Trial) clock() End { return End{t.Clock.Client / t.Work * 1e9, t.Clock.Server / t.Work * 1e9} }

// engine returns the samples of the engine's threads, ns per unit of work.
func (t Trial) engine() (e End) {
	for _, s := range t.Profile.Stacks {
		switch s.process() {
		case client:
			e.Client += t.per(s.Samples)
		case server:
			e.Server += t.per(s.Samples)
		}
	}
	return e
}

// Agreed is how far the samples of the engine's threads can be from their clocks, as a share of the clocks.
const Agreed = 0.1

// scales returns the factors by which the samples of each end, on each side of the pairs, fall short of its threads'
// clocks: 1 if both sides agree. A CPU that sleeps between packets can miss most of its samples. Samples that exceed a clock
// stay as they are: they contain softirqs that the kernel charges to no thread.
func scales(pairs [][2]Trial) (of [2]End) {
	var sampled, clocked [2]End
	for _, p := range pairs {
		for side, t := range p {
			sampled[side], clocked[side] = sampled[side].plus(t.engine()), clocked[side].plus(t.clock())
		}
	}
	short := func(of func(End) float64) (by [2]float64) {
		by = [2]float64{1, 1}
		missed := false
		for side := range by {
			missed = missed || of(sampled[side]) < (1-Agreed)*of(clocked[side])
		}
		for side := range by {
			if samples := of(sampled[side]); missed && samples > 0 {
				by[side] = max(1, of(clocked[side])/samples)
			}
		}
		return by
	}
	c, s := short(func(e End) float64 { return e.Client }), short(func(e End) float64 { return e.Server })
	return [2]End{{c[0], s[0]}, {c[1], s[1]}}
}

// A Row is the CPU time of one layer, ns per unit of work.
type Row struct {
	Layer string        `json:"layer"`
	Base  float64       `json:"base"` // of the baseline, mean over blocks
	Here  float64       `json:"here"` // of the network
	Extra stat.Interval `json:"extra"`
	Off   string        `json:"off,omitempty"` // what removes the layer
}

// A Difference is what a network adds to the CPU time of a unit of work over the baseline.
type Difference struct {
	Baseline string `json:"baseline"`
	Network  string `json:"network"`
	Unit     string `json:"unit"`   // of work: packet, transaction or KiB
	Blocks   int    `json:"blocks"` // with a profile of both
	Rows     []Row  `json:"rows"`   // by their extra time, the largest first; they add up to Sum
	Sum      Row    `json:"sum"`    // all samples, scaled
	Engine   Row    `json:"engine"` // those of the engine's threads
	Clock    Row    `json:"clock"`  // the engine's threads by their own clocks
	// Sampled and Clocked are Engine.Here and Clock.Here by end, and Scale is the factor by which the layers and their sum count
	// a sample of an end, on the network and on the baseline: it makes up for what its samples lack of its clock.
	Sampled   End     `json:"sampled"`
	Clocked   End     `json:"clocked"`
	Scale     End     `json:"scale"`
	ScaleBase End     `json:"scaleBase"`
	Tree      []Frame `json:"-"` // of the network, by process
}

// Agree returns the largest deviation of the engine's samples from its threads' clocks, as a share of the clocks: of
// the baseline, the network, and the extra time unless that is a small difference of large numbers.
func (d Difference) Agree() float64 {
	off := max(deviation(d.Engine.Base, d.Clock.Base), deviation(d.Engine.Here, d.Clock.Here))
	if abs(d.Clock.Extra.Center) > d.Clock.Here/4 {
		off = max(off, deviation(d.Engine.Extra.Center, d.Clock.Extra.Center))
	}
	return off
}

func deviation(samples, clock float64) float64 {
	if clock == 0 {
		return 0
	}
	return abs(samples-clock) / abs(clock)
}

func abs(x float64) float64 { return max(x, -x) }

// least is the share of the sum below which a layer counts as other.
const least = 0.002

// Compare returns what here adds over base, in the blocks that both have; false without any. All trials of
// each have the same levels. The intervals are over blocks and hold one by one.
func Compare(base, here []Trial, confidence float64) (d Difference, ok bool) {
	c := newClassifier()
	of, in := byBlock(base), byBlock(here)
	var pairs [][2]Trial
	for _, b := range slices.Sorted(maps.Keys(in)) {
		if x, both := of[b]; both {
			pairs = append(pairs, [2]Trial{x, in[b]})
		}
	}
	if len(pairs) == 0 || pairs[0][0].Unit != pairs[0][1].Unit {
		return d, false
	}
	d = Difference{Baseline: pairs[0][0].Config["network"], Network: pairs[0][1].Config["network"], Unit: pairs[0][1].Unit, Blocks: len(pairs)}
	layers := map[string][2][]float64{} // by layer: of the baseline and the network, by block
	var sums, engines, clocks [2][]float64
	scale := scales(pairs)
	d.ScaleBase, d.Scale = scale[0], scale[1]
	for i, p := range pairs {
		for side, t := range p {
			by, sum := t.times(c, scale[side])
			engine := t.engine()
			for l, ns := range by {
				v := layers[l]
				if v[0] == nil {
					v = [2][]float64{make([]float64, len(pairs)), make([]float64, len(pairs))}
				}
				v[side][i] = ns
				layers[l] = v
			}
			sums[side], engines[side] = append(sums[side], sum), append(engines[side], engine.sum())
			clocks[side] = append(clocks[side], t.clock().sum())
			if side == 1 {
				d.Sampled, d.Clocked = d.Sampled.plus(engine.times(1/float64(len(pairs)))), d.Clocked.plus(t.clock().times(1/float64(len(pairs))))
			}
		}
	}
	row := func(name string, v [2][]float64) Row {
		extra, ones := make([]float64, len(pairs)), make([]float64, len(pairs))
		for i := range extra {
			extra[i], ones[i] = v[1][i]-v[0][i], 1
		}
		return Row{Layer: name, Base: mean(v[0]), Here: mean(v[1]), Extra: stat.Sums(extra, ones, confidence), Off: Off(name)}
	}
	d.Sum, d.Engine, d.Clock = row("sum of the layers", sums), row("samples of the engine's threads", engines), row("clock of the engine's threads", clocks)
	for l, v := range layers {
		if l != other && mean(v[0]) < least*d.Sum.Here && mean(v[1]) < least*d.Sum.Here {
			layers[other] = add(layers[other], v, len(pairs))
			delete(layers, l)
		}
	}
	for l, v := range layers {
		d.Rows = append(d.Rows, row(l, v))
	}
	slices.SortFunc(d.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Extra.Center, a.Extra.Center), cmp.Compare(a.Layer, b.Layer))
	})
	var shown []Trial
	for _, p := range pairs {
		shown = append(shown, p[1])
	}
	d.Tree = tree(shown, c, d.Scale)
	return d, true
}

func byBlock(ts []Trial) map[int]Trial {
	all := map[int]Trial{}
	for _, t := range ts {
		all[t.Block] = t
	}
	return all
}

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}

func add(a, b [2][]float64, n int) [2][]float64 {
	for side := range a {
		if a[side] == nil {
			a[side] = make([]float64, n)
		}
		for i := range a[side] {
			a[side][i] += b[side][i]
		}
	}
	return a
}

// A Frame is a stretch of calls within one layer, which begins with a function, and what it calls in other layers.
type Frame struct {
	Function string
	Layer    string
	Time     float64 // with what it calls, ns per unit of work
	Calls    []Frame // by function
}

// tree merges the stacks of trials, scaled by end. Functions that the layers do not know belong to their caller.
func tree(ts []Trial, c *classifier, scale End) []Frame {
	root := &node{}
	for _, t := range ts {
		for _, s := range t.Profile.Stacks {
			ns, at := t.per(s.Samples)*scale.of(s.process())/float64(len(ts)), root.call(s.process(), OwnCode)
			at.time += ns
			for _, f := range s.Frames[1:] {
				if l := c.layer(f); l != "" && l != at.layer {
					at = at.call(f, l)
					at.time += ns
				}
			}
		}
	}
	return root.frames()
}

// A node is a Frame under construction.
type node struct {
	function, layer string
	time            float64
	calls           map[string]*node
}

func (n *node) call(function, layer string) *node {
	if n.calls == nil {
		n.calls = map[string]*node{}
	}
	if n.calls[function] == nil {
		n.calls[function] = &node{function: function, layer: layer}
	}
	return n.calls[function]
}

func (n *node) frames() (all []Frame) {
	for _, name := range slices.Sorted(maps.Keys(n.calls)) {
		x := n.calls[name]
		all = append(all, Frame{x.function, x.layer, x.time, x.frames()})
	}
	return all
}
