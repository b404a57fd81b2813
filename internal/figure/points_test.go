package figure

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/record"
)

const needed = `source: Somebody
studies:
  s: {networks: [host, bridge], probes: [tcp-stream], factors: {size: [1, 2]}}
figures:
- {id: a-1, place: figure 1, section: 2, caption: C, question: Q, numbers: N, study: s, chart: bars, rows: network, bars: size, to: {network: host}`

func of(t *testing.T, src string, rs []record.Result) Result {
	t.Helper()
	fs, err := Load([]byte(src), "figures/a.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := fs[0].Of(analysis.New(rs, analysis.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Published ratios to a cell of their own hold together with the figure's.
func TestAllRatiosCount(t *testing.T) {
	plain := of(t, needed+"}\n", results()).Points[2].Ratio
	more := of(t, needed+", published: [{at: {size: 2}, to: {size: 1}, ratio: 3}]}\n", results()).Points[2].Ratio
	if !(more.Confidence > plain.Confidence && plain.Bounded()) {
		t.Errorf("confidence %v with 4 ratios, %v with 2", more.Confidence, plain.Confidence)
	}
}

// A published ratio whose divisor the run lacks is not compared, and says so.
func TestNoDivisor(t *testing.T) {
	var rs []record.Result
	for _, r := range results() {
		if r.Config["size"] == "2" {
			rs = append(rs, r)
		}
	}
	r := of(t, needed+", published: [{at: {network: host, size: 2}, to: {size: 1}, ratio: 3}]}\n", rs)
	if c := r.Comparisons; len(c) != 1 || c[0].Missing == "" || c[0].To != "size 1" || c[0].Here.N != 0 {
		t.Errorf("%+v", c)
	}
}

// A trial without any reply has no response time: there is a median, and no mean.
func TestNoReply(t *testing.T) {
	var rs []record.Result
	for _, r := range results() {
		r.Values = []record.Value{{Name: "rtt", Unit: "s", Value: 1e-4}, {Name: "loss", Unit: "1"}}
		if r.Block == 1 && r.Config["network"] == "bridge" {
			r.Values = []record.Value{{Name: "loss", Unit: "1", Value: 1}}
		}
		rs = append(rs, r)
	}
	r := of(t, needed+", values: [rtt]}\n", rs)
	for _, p := range r.Points {
		if p.Levels["network"] == "bridge" && (p.Value.Center != 1e-4 || p.Spread != (Spread{}) || p.RatioSpread != (Spread{})) {
			t.Errorf("%+v", p)
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	if _, err := r.SVG(Look{SD: true}, nil); err != nil {
		t.Error(err)
	}
}

// A value that a probe does not have makes no cell, disturbed or not; one that no trial has is missing.
func TestLacks(t *testing.T) {
	const src = `source: Somebody
studies:
  s: {networks: [host], probes: [tcp-stream, tcp-rr]}
figures:
- {id: a-1, place: figure 1, section: 2, caption: C, question: Q, numbers: N, study: s, chart: bars, panels: value, rows: probe, values: [cpu.per.packet, throughput, rtt]}
`
	var rs []record.Result
	for block := 1; block <= 3; block++ {
		for probe, v := range map[string]record.Value{"tcp-stream": {Name: "throughput", Unit: "bit/s", Value: 1e9}, "tcp-rr": {Name: "rtt", Unit: "s", Value: 1e-4}} {
			rs = append(rs, record.Result{Trial: fmt.Sprint(block, probe), Block: block, Status: record.Disturbed,
				Config: map[string]string{"network": "host", "probe": probe}, Values: []record.Value{v}})
		}
	}
	var cells []string
	for _, p := range of(t, src, rs).Points {
		cells = append(cells, p.Levels["probe"]+" "+p.Levels["value"])
	}
	if want := "[tcp-stream cpu.per.packet tcp-rr cpu.per.packet tcp-stream throughput tcp-rr rtt]"; fmt.Sprint(cells) != want {
		t.Errorf("got  %v\nwant %s", cells, want)
	}
}
