package costmodel

import (
	"math"
	"testing"

	"github.com/weir-bench/weir/internal/stat"
)

var someSizes = []float64{18, 200, 700, 1000, 1398}

// covers reports whether an interval covers a value that it estimates.
func covers(t *testing.T, what string, i stat.Interval, v float64) {
	t.Helper()
	if !i.Contains(v) {
		t.Errorf("%s is %.4g [%.4g, %.4g], want an interval around %.4g", what, i.Center, i.Lo, i.Hi, v)
	}
}

func TestFitRecovers(t *testing.T) {
	m := synthetic(1)
	m.udp("host", ofHost, nil, someSizes...)
	m.udp("vxlan-overlay", ofOverlay, nil, someSizes...)
	m.gso("host", ofHost, Size{350, 16}, Size{100, 64}, Size{1398, 8}, Size{700, 40}, Size{1398, 46})
	m.tcp("host", truth{pass: 4.9e-6, byte: 0.155e-9, receiver: 3e-6}, 16384, 65536, 131072, 262144)
	models := Fit(m.run())
	if len(models) != 8 {
		t.Fatalf("%d models, want a sender and a receiver each of UDP on two networks, GSO and TCP", len(models))
	}
	want := map[string]truth{UDP + "host": ofHost, UDP + "vxlan-overlay": ofOverlay, GSO + "host": ofHost, TCP + "host": {pass: 4.9e-6, byte: 0.155e-9, receiver: 3e-6}}
	for _, x := range models {
		c, what := want[x.Kind+x.Network], x.Kind+" "+x.Network+" "+x.End
		if x.Refused != "" || x.MeanError > 0.05 || x.Blocks != 16 || x.LargestError < x.MeanError {
			t.Errorf("%s: refused %q, held-out errors %g and %g, %d blocks", what, x.Refused, x.MeanError, x.LargestError, x.Blocks)
		}
		if x.End == Receiver {
			covers(t, what+" pass", x.Pass, c.receiver)
			covers(t, what+" byte", x.Byte, c.byte/2)
			continue
		}
		if x.Kind != GSO {
			c.pass, c.segment = c.pass+c.segment, 0
		}
		covers(t, what+" pass", x.Pass, c.pass)
		covers(t, what+" byte", x.Byte, c.byte)
		if x.Kind == GSO {
			covers(t, what+" segment", x.Segment, c.segment)
		} else if x.Segment.N > 0 {
			t.Errorf("%s: a term for segments, whose number does not vary", what)
		}
	}
}

func TestFitNeedsSizes(t *testing.T) {
	m := synthetic(2)
	m.udp("host", ofHost, nil, 18, 700, 1398)
	m.udp("host", ofHost, nil, 3000) // fragmented, which is several passes
	if models := Fit(m.run()); len(models) != 0 {
		t.Errorf("a model of three sizes: %+v", models[0])
	}
}

// A cost that is no straight line has a large held-out error, and no model.
func TestFitRefusesWhatItCannotPredict(t *testing.T) {
	m := synthetic(3)
	for _, size := range someSizes {
		c := ofHost
		if size > 500 {
			c.pass *= 2.5
		}
		m.udp("host", c, nil, size)
	}
	for _, x := range Fit(m.run()) {
		if x.End == Sender && (x.Refused == "" || x.MeanError <= MostError) {
			t.Errorf("a model of a step is off by %g on average, refused: %q", x.MeanError, x.Refused)
		}
	}
}

func TestFitNeedsBlocks(t *testing.T) {
	m := synthetic(4)
	m.blocks = 4
	m.udp("host", ofHost, nil, someSizes...)
	for _, x := range Fit(m.run()) {
		if x.Refused == "" {
			t.Errorf("a model of %d blocks has no interval", x.Blocks)
		}
	}
}

// The error of each held-out size is that of a line through the others, by the textbook's formula.
func TestHeldOut(t *testing.T) {
	m := synthetic(5)
	m.noise = 0.1
	m.udp("host", ofHost, nil, someSizes...)
	x := Fit(m.run())[0]
	sum, largest := 0.0, 0.0
	for i := range x.Points {
		var w, wx, wy, wxx, wxy float64
		for j, p := range x.Points {
			if j == i {
				continue
			}
			y := p.Cost.Center
			w, wx, wy, wxx, wxy = w+1/y/y, wx+p.Bytes/y/y, wy+1/y, wxx+p.Bytes*p.Bytes/y/y, wxy+p.Bytes/y
		}
		slope := (w*wxy - wx*wy) / (w*wxx - wx*wx)
		y := x.Points[i].Cost.Center
		wrong := math.Abs((wy/w+slope*(x.Points[i].Bytes-wx/w))/y - 1)
		sum, largest = sum+wrong, max(largest, wrong)
	}
	if got, want := x.MeanError, sum/float64(len(x.Points)); math.Abs(got/want-1) > 1e-9 {
		t.Errorf("mean held-out error %g, want %g", got, want)
	}
	if math.Abs(x.LargestError/largest-1) > 1e-9 {
		t.Errorf("largest held-out error %g, want %g", x.LargestError, largest)
	}
}

// Intervals of 95 % cover the truth in about that share of seeded simulations.
func TestCoverage(t *testing.T) {
	const runs = 400
	pass, bytes := 0, 0
	for seed := range uint64(runs) {
		m := synthetic(100 + seed)
		m.udp("host", ofHost, nil, someSizes...)
		x := Fit(m.run())[0]
		if x.Pass.Contains(ofHost.pass + ofHost.segment) {
			pass++
		}
		if x.Byte.Contains(ofHost.byte) {
			bytes++
		}
	}
	for what, n := range map[string]int{"pass": pass, "byte": bytes} {
		if share := float64(n) / runs; share < 0.93 {
			t.Errorf("the interval of %s covers the truth in %.1f %% of %d runs", what, 100*share, runs)
		}
	}
}

func TestCrossings(t *testing.T) {
	m := synthetic(6)
	m.noise = 0.01
	cheap, dear := truth{pass: 2e-6, byte: 2e-9, receiver: 1e-6}, truth{pass: 3e-6, byte: 0.5e-9, receiver: 1e-6}
	m.udp("host", cheap, nil, someSizes...)
	m.udp("bridge", dear, nil, someSizes...)
	models := Fit(m.run())
	covers(t, "bytes that cost as much as a pass", models[0].Even, cheap.pass/cheap.byte)
	if models[2].Even.N > 0 {
		t.Errorf("bytes cost as much as a pass from %v on, and the largest size is %g", models[2].Even, models[2].Largest())
	}
	var found bool
	for _, c := range Crossings(models) {
		if c.End == Sender {
			found = c.A == "host" && c.B == "bridge"
			covers(t, "the crossing", c.Bytes, 1e-6/1.5e-9)
		}
	}
	if !found {
		t.Error("no crossing of host and bridge, below which host is cheaper")
	}

	m = synthetic(7)
	m.segmentsOf(ofOverlay, ofBridged, someSizes...)
	for _, c := range Crossings(Fit(m.run())) {
		if c.End == Sender {
			t.Errorf("parallel costs meet at %v", c.Bytes)
		}
	}
}

// Traffic that waits has a term of its own if that predicts other sizes, and otherwise only a factor.
func TestWakes(t *testing.T) {
	m := synthetic(8)
	m.udp("host", ofHost, nil, someSizes...)
	m.requests("host", ofHost, func(float64) float64 { return 6e-6 }, 64, 500, 1000)
	run := m.run()
	w := Wakes(run, Fit(run))
	if len(w) != 1 || w[0].Refused != "" || w[0].MeanError > 0.05 || w[0].Sizes != 3 || w[0].Factor.Center < 2 {
		t.Fatalf("wake-ups %+v", w)
	}
	covers(t, "the wake-up", w[0].Extra, 6e-6)

	m = synthetic(9)
	m.udp("host", ofHost, nil, someSizes...)
	m.requests("host", ofHost, func(size float64) float64 { return size * 2e-8 }, 64, 500, 1000)
	run = m.run()
	if w = Wakes(run, Fit(run)); len(w) != 1 || w[0].Refused == "" {
		t.Errorf("a term for wake-ups that differ: %+v", w)
	}
	m.all = m.all[5*m.blocks:]
	run = m.run()
	if w = Wakes(run, Fit(run)); w != nil {
		t.Errorf("wake-ups without a model of the busy path: %+v", w)
	}
}
