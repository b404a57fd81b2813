package costmodel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

func one(t *testing.T, m *maker) Bound {
	t.Helper()
	bs := WhatIf(m.run())
	if len(bs) != 1 {
		t.Fatalf("%d bounds, want 1", len(bs))
	}
	return bs[0]
}

func TestWhatIf(t *testing.T) {
	m := synthetic(34)
	m.segmentsOf(ofOverlay, ofBridged, 1398)
	b := one(t, m)
	host, _ := ofHost.at(1, 1398)
	overlay, _ := ofOverlay.at(1, 1398)
	covers(t, "encapsulation", b.Encapsulation, 1.6e-6)
	covers(t, "bridging", b.Bridging, 2.4e-6)
	covers(t, "the sum", b.Sum, overlay)
	covers(t, "the measured path", b.Cost, overlay)
	covers(t, "the sum ÷ the measured path", b.OfMeasured, 1)
	covers(t, "free encapsulation", b.Free, overlay/(overlay-1.6e-6))
	covers(t, "a free network", b.FreeAll, overlay/host)
	covers(t, "what bridged gains", b.Gain, overlay/(overlay-1.6e-6))
	covers(t, "what bridged saves", b.GainCPU, overlay/(overlay-1.6e-6))
	covers(t, "cores saved", b.Saved, 1.6e-6*0.99/overlay)
	if b.Unit != "s/packet" || b.Network != "vxlan-overlay" || b.Probe != "udp-1398" || b.Why != "" || b.Verdict != Stands {
		t.Errorf("%+v", b)
	}
	if b.Limit == nil || !b.Inside || b.Limit.Name() != "weir-engine-agent" || b.Next == nil || b.Next.Name() != "weir-engine-serve" || b.Most != 0 {
		t.Errorf("limit %+v, inside %v, next %+v, most %g", b.Limit, b.Inside, b.Next, b.Most)
	}
}

// The run that lacks the tunnel can refute the bound.
func TestRefuted(t *testing.T) {
	m := synthetic(21)
	m.segmentsOf(ofOverlay, truth{pass: 3e-6, byte: 0.29e-9, receiver: 0.5e-6}, 1398)
	if b := one(t, m); b.Verdict != Refuted {
		t.Errorf("free encapsulation gives %v, bridged gained %v: %s", b.Free, b.Gain, b.Verdict)
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		lo, center, hi float64
		want           Verdict
	}{
		{1.2, 1.3, 1.38, Stands}, {1.2, 1.3, 1.6, Stands}, {0.7, 0.8, 0.9, Stands},
		{1.45, 1.6, 1.8, Refuted},
		{1.19, 1.89, 3.01, Open}, {0.9, 1.2, 1.5, Open}, // the estimate is above the bound; nothing is excluded
	} {
		if got := Within(stat.Interval{Center: c.center, Lo: c.lo, Hi: c.hi, Confidence: confidence, N: 16}, 1.4); got != c.want {
			t.Errorf("a gain of %g [%g, %g] with a bound of 1.4: %s, want %s", c.center, c.lo, c.hi, got, c.want)
		}
	}
	if got := Within(stat.Interval{Center: 2, N: 3}, 1.4); got != Open {
		t.Errorf("a gain without an interval: %s", got)
	}
}

// Blocks in which noise leaves nothing of the path without encapsulation count as the largest gain: a bound
// from the others would be too low.
func TestNoBoundFromTheBlocksThatSuit(t *testing.T) {
	m := synthetic(28)
	m.noise, m.drift = 0.05, 0
	m.udp("host", truth{pass: 0.1e-6, receiver: 0.1e-6}, nil, 18)
	m.udp("vxlan", truth{pass: 6.9e-6, receiver: 0.1e-6}, nil, 18)
	m.udp("vxlan-overlay", truth{pass: 7e-6, receiver: 0.1e-6}, nil, 18)
	if b := one(t, m); b.Free.N > 0 || b.Why != tooNoisy {
		t.Errorf("a bound of %v, %q", b.Free, b.Why)
	}
}

// Segments that do not add up give no bound.
func TestNoBoundWithoutASum(t *testing.T) {
	m := synthetic(22)
	m.segmentsOf(truth{pass: 9.5e-6, byte: 0.29e-9, receiver: 0.5e-6}, ofBridged, 1398)
	if b := one(t, m); b.Free.N > 0 || !strings.Contains(b.Why.String(), "sum") || b.Verdict != "" || b.OfMeasured.Hi >= 1 {
		t.Errorf("a bound of %v though the sum is %v of the path: %q, %q", b.Free, b.OfMeasured, b.Why, b.Verdict)
	}
}

func TestNoCostNoBound(t *testing.T) {
	m := synthetic(23)
	m.udp("host", ofHost, nil, 1398)
	m.udp("vxlan", ofHost, nil, 1398)
	m.udp("vxlan-overlay", ofBridged, nil, 1398)
	if b := one(t, m); b.Free.N > 0 || b.Why == "" {
		t.Errorf("encapsulation costs %v, and a bound of %v", b.Encapsulation, b.Free)
	}
	m.all = m.all[m.blocks:]
	if bs := WhatIf(m.run()); bs != nil {
		t.Errorf("a bound without host: %+v", bs)
	}
}

// A receiver that would be full first bounds the gain.
func TestNextLimit(t *testing.T) {
	slow := func(c truth) truth { c.receiver = 6.5e-6; return c }
	m := synthetic(24)
	m.udp("host", slow(ofHost), nil, 18)
	m.udp("vxlan", slow(ofTunnel), nil, 18)
	m.udp("vxlan-overlay", slow(ofOverlay), nil, 18)
	if b := one(t, m); b.Most < 1.03 || b.Most > 1.12 || b.Next.Name() != "weir-engine-serve" {
		t.Errorf("the next limit allows %g, of %+v", b.Most, b.Next)
	}
}

// On a busy machine no thread fills a CPU, but one that ran or waited for a CPU all the time is the limit.
func TestLimitOnABusyMachine(t *testing.T) {
	for _, c := range []struct {
		wait  float64
		limit bool
	}{{0.39, true}, {0.1, false}} {
		m := synthetic(27)
		m.segmentsOf(ofOverlay, ofBridged, 1398)
		m.threads("vxlan-overlay", map[record.Key]float64{agent: 0.6, serve: 0.1})
		all := map[string]*evidence.Trial{}
		for _, r := range m.all {
			all[r.Trial] = &evidence.Trial{Window: 1, Sender: evidence.End{CPU: 0.6, Wait: c.wait}}
		}
		o := options
		o.Evidence = all
		b := WhatIf(analysis.New(m.all, o))[0]
		if (b.Limit != nil) != c.limit || b.Inside != c.limit {
			t.Errorf("wait %g: limit %+v, inside %v", c.wait, b.Limit, b.Inside)
		}
	}
}

// A sender that waits for a CPU limits before a busier thread that does not wait.
func TestLimitIsNotTheBusiest(t *testing.T) {
	m := synthetic(29)
	m.segmentsOf(ofOverlay, ofBridged, 1398)
	m.threads("vxlan-overlay", map[record.Key]float64{agent: 0.6, serve: 0.7})
	o := options
	o.Evidence = map[string]*evidence.Trial{}
	for _, r := range m.all {
		o.Evidence[r.Trial] = &evidence.Trial{Window: 1, Sender: evidence.End{CPU: 0.6, Wait: 0.39}}
	}
	if b := WhatIf(analysis.New(m.all, o))[0]; !b.Inside || b.Most != 1 {
		t.Errorf("limit %+v, next %+v, from %g× on", b.Limit, b.Next, b.Most)
	}
}

// threads replaces the threads of a network's trials.
func (m *maker) threads(network string, share map[record.Key]float64) {
	for i := range m.all {
		r := &m.all[i]
		if r.Config["network"] != network {
			continue
		}
		var kept []record.Value
		for _, v := range r.Values {
			if v.Name != record.CPUThread {
				kept = append(kept, v)
			}
		}
		for thread, v := range share {
			kept = append(kept, thread.Value("core", v))
		}
		r.Values = kept
	}
}

// Of a guest, the bound is that of the thread on its host, and there is none if the guest's CPU is full.
func TestGuests(t *testing.T) {
	thread := record.CPUThread.Thread
	vhost, vcpu, inPod := thread("h1", "vhost", ""), thread("h1", "qemu-system-x86", "CPU_0/KVM"), thread("h1p1", sample.EngineClient, "")
	for _, c := range []struct {
		threads map[record.Key]float64
		inside  bool
		why     string
	}{
		{map[record.Key]float64{vhost: 0.99, vcpu: 0.6}, true, ""},
		{map[record.Key]float64{vhost: 0.6, vcpu: 0.99}, false, "does not encapsulate"},
		{map[record.Key]float64{vhost: 0.6, inPod: 0.99}, false, "does not encapsulate"},
		{map[record.Key]float64{vhost: 0.6, vcpu: 0.7}, false, "no thread is full"},
	} {
		m := synthetic(25)
		m.udp("host", ofHost, nil, 18)
		m.udp("vxlan", ofTunnel, nil, 18)
		m.udp("vm-vxlan", truth{pass: 9e-6, receiver: 1e-6}, nil, 18)
		m.udp("bridged", ofBridged, nil, 18) // pods, which say nothing about a guest's tunnel
		m.threads("vm-vxlan", c.threads)
		b := one(t, m)
		if b.Verdict != "" || b.Testable() {
			t.Errorf("bridged pods judge a guest: %s", b.Verdict)
		}
		if b.Inside != c.inside || !strings.Contains(b.Why.String(), c.why) || (b.Free.N > 0) != c.inside {
			t.Errorf("%v: inside %v, %q, free %v", c.threads, b.Inside, b.Why, b.Free)
		}
		if c.inside {
			covers(t, "free encapsulation for a guest", b.Free, 9e-6/(9e-6-1.6e-6))
		}
	}
}

func TestHooks(t *testing.T) {
	m := synthetic(26)
	with := ofOverlay
	with.pass += 1.3e-6
	for level, c := range map[string]truth{"off": ofOverlay, "on": with} {
		at := map[string]string{"bridge-nf": level}
		m.udp("host", ofHost, at, 1398)
		m.udp("vxlan-overlay", c, at, 1398)
	}
	hooks := Hooks(m.run())
	if len(hooks) != 1 || hooks[0].Network != "vxlan-overlay" || hooks[0].Unit != "s/packet" {
		t.Fatalf("hooks %+v", hooks)
	}
	covers(t, "the hook", hooks[0].Extra, 1.3e-6)
	covers(t, "its share", hooks[0].Share, 1.3/5.3)
}

// Of several conditions the one with the largest bound is said, and of many probes one per unit of work.
func TestLeading(t *testing.T) {
	bound := func(network, probe, mtu, unit string, free float64) Bound {
		return Bound{Cell: analysis.Cell{Network: network, Probe: probe, Levels: map[string]string{"mtu": mtu}}, Unit: unit, Free: stat.Interval{Center: free}}
	}
	names := func(bs []Bound) (s string) {
		for _, b := range bs {
			s += fmt.Sprintf("%s %s %s;", b.Network, b.Probe, b.Levels["mtu"])
		}
		return s
	}
	few := []Bound{bound("a", "udp", "1500", "s/packet", 1.2), bound("a", "udp", "9000", "s/packet", 1.3), bound("a", "tcp", "1500", "s/byte", 1.1), bound("b", "udp", "1500", "s/packet", 1.4)}
	if got := names(Leading(few)); got != "a udp 9000;a tcp 1500;b udp 1500;" {
		t.Error(got)
	}
	many := append(few, bound("a", "udp-mmsg", "1500", "s/packet", 1.5), bound("a", "udp-gso", "1500", "s/packet", 1.1))
	if got := names(Leading(many)); got != "a udp-mmsg 1500;a tcp 1500;b udp 1500;" {
		t.Error(got)
	}
}
