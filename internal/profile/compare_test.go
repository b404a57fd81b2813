package profile

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// trial has samples by function below the engine, in 2 s of 1,000 units of work per second.
func trial(network string, block int, clock float64, samples map[string]int) Trial {
	p := &Profile{Duration: 2 * time.Second, Period: time.Millisecond}
	for f, n := range samples {
		p.Stacks = append(p.Stacks, Stack{[]string{"client", "do_syscall_64", f}, n})
	}
	return Trial{Config: map[string]string{"network": network}, Block: block, Unit: "packet", Work: 1000, Clock: End{Client: clock}, Profile: p}
}

func TestCompare(t *testing.T) {
	var base, here []Trial
	for b := range 4 {
		base = append(base, trial("host", b, 0.2, map[string]int{"udp_sendmsg": 400}))
		here = append(here, trial("bridge", b, 0.5, map[string]int{"udp_sendmsg": 400, "br_forward": 590 + 10*(b%2)}))
	}
	here = append(here, trial("bridge", 9, 9, map[string]int{"udp_sendmsg": 9000})) // without its pair
	d, ok := Compare(base, here, 0.95)
	if !ok || d.Blocks != 4 || d.Baseline != "host" || d.Network != "bridge" || len(d.Rows) != 2 {
		t.Fatalf("%v %+v", ok, d)
	}
	// A sample of 1 ms in 2 s and 1,000 packets per second is 500 ns per packet.
	bridge, udp := d.Rows[0], d.Rows[1]
	if bridge.Layer != "bridge" || math.Abs(bridge.Extra.Center-297500) > 1 || bridge.Base != 0 || !bridge.Extra.Bounded() || bridge.Off == "" {
		t.Errorf("bridge: %+v", bridge)
	}
	if udp.Layer != "UDP" || udp.Extra.Center != 0 || math.Abs(udp.Here-200000) > 1 {
		t.Errorf("UDP: %+v", udp)
	}
	if math.Abs(d.Sum.Extra.Center-bridge.Extra.Center) > 1 || math.Abs(d.Clock.Extra.Center-300000) > 1 {
		t.Errorf("sum %v, clock %v", d.Sum.Extra.Center, d.Clock.Extra.Center)
	}
	if off := d.Agree(); off < 0.008 || off > 0.009 {
		t.Errorf("the samples differ from the clock by %v, want 2.5 of 300", off)
	}
	if len(d.Tree) != 1 || len(d.Tree[0].Calls) != 1 || len(d.Tree[0].Calls[0].Calls) != 2 || math.Abs(d.Tree[0].Time-d.Sum.Here) > 1 {
		t.Errorf("tree %+v", d.Tree)
	}
	if _, ok := Compare(base, nil, 0.95); ok {
		t.Error("compared with nothing")
	}
}

func TestTrialOf(t *testing.T) {
	own := record.CPUOwn.At("server").Value("", 0.7)
	for name, c := range map[string]struct {
		values []record.Value
		unit   string
		work   float64
	}{
		"datagrams":   {[]record.Value{own, {Name: "throughput", Value: 9e9}, {Name: "packet.rate", Value: 5e5}, {Name: "delivered", Value: 5e5}}, "packet", 5e5},
		"stream":      {[]record.Value{own, {Name: "throughput", Value: 8192e3}, {Name: "packet.rate", Value: 5e5}}, "KiB", 1e3},
		"requests":    {[]record.Value{own, {Name: "transactions", Value: 2e4}}, "transaction", 2e4},
		"no clock":    {[]record.Value{{Name: "transactions", Value: 2e4}}, "", 0},
		"no delivery": {[]record.Value{own}, "", 0},
	} {
		got, ok := TrialOf(&record.Result{Values: c.values}, two)
		if ok != (c.unit != "") || ok && (got.Unit != c.unit || got.Work != c.work || got.Clock != End{Server: 0.7}) {
			t.Errorf("%s: %v %+v", name, ok, got)
		}
	}
}

// The recorded profiles are of udp-stream on a machine with 2 CPUs.
func TestRecorded(t *testing.T) {
	f, err := os.Open("testdata/profiles.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	of := map[string][]Trial{}
	for r, err := range record.All(f, "profiles.jsonl") {
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join("testdata", r.Trial+".pb.gz"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		one, ok := TrialOf(r, p)
		if !ok {
			t.Fatalf("%s has no work", r.Trial)
		}
		of[r.Config["network"]] = append(of[r.Config["network"]], one)
	}
	d, ok := Compare(of["host"], of["vxlan-overlay"], 0.95)
	if !ok {
		t.Fatal("nothing to compare")
	}
	var b strings.Builder
	for _, r := range append(d.Rows, d.Sum, d.Engine, d.Clock) {
		fmt.Fprintf(&b, "%-32s %7.0f %7.0f %7.0f [%.0f, %.0f]\n", r.Layer, r.Base, r.Here, r.Extra.Center, r.Extra.Lo, r.Extra.Hi)
	}
	file := "testdata/difference.golden"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("differs from %s; look at it, then run the test with -update:\n%s", file, b.String())
	}
	if off := deviation(d.Sampled.Client, d.Clocked.Client); off > 0.1 {
		t.Errorf("the client's samples differ from its clock by %.0f %%", 100*off)
	}
	for _, r := range d.Rows {
		if r.Layer == other && r.Here > 0.02*d.Sum.Here {
			t.Errorf("%.1f %% of the samples belong to no layer", 100*r.Here/d.Sum.Here)
		}
	}
}

// Layers of an end whose samples are missing add up to its clock, and those of an end that has them stay as they are.
func TestScaled(t *testing.T) {
	both := func(network string, clock End, samples map[string]int) (all []Trial) {
		for b := range 4 {
			x := trial(network, b, 0, nil)
			x.Clock = clock
			for process, n := range samples {
				x.Profile.Stacks = append(x.Profile.Stacks, Stack{[]string{process, "do_syscall_64", "udp_sendmsg"}, n})
			}
			all = append(all, x)
		}
		return all
	}
	// 1,000 samples are half a core.
	base := both("host", End{0.5, 0.25}, map[string]int{client: 1020, server: 480})
	here := both("bridge", End{0.7, 0.35}, map[string]int{client: 1400, server: 350, Kernel: 100})
	d, ok := Compare(base, here, 0.95)
	if !ok || d.Scale.Client != 1 || math.Abs(d.Scale.Server-2) > 1e-9 || math.Abs(d.ScaleBase.Server-0.25/0.24) > 1e-9 || d.ScaleBase.Client != 1 {
		t.Fatalf("%v, scales %v and %v", ok, d.Scale, d.ScaleBase)
	}
	if got, want := d.Sum.Extra.Center, (0.7+0.35+0.05-0.51-0.25)*1e6; math.Abs(got-want) > 1 {
		t.Errorf("the layers add up to %v, want %v", got, want)
	}
	if math.Abs(d.Tree[0].Time+d.Tree[1].Time+d.Tree[2].Time-d.Sum.Here) > 1 {
		t.Errorf("the tree has another sum than the layers: %+v", d.Tree)
	}
}
