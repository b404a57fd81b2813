package probe

import (
	"bytes"
	"math"
	"testing"
)

// Results with CPU times give cores; those of older engines have none.
func TestOwn(t *testing.T) {
	for _, name := range []string{"tcp-stream", "udp-stream", "udp-rate", "tcp-rr", "udp-rr", "udp-open"} {
		out := read(t, "testdata/native/1-"+name+".out")
		m, err := nativeProbes[name].Parse(Output{Client: out})
		if err != nil {
			t.Fatal(err)
		}
		window := 0.0
		for _, v := range m.Values {
			if v.Name == "cpu.own" {
				t.Errorf("%s: %+v without a clock", name, v)
			}
			if v.Name == "window" {
				window = v.Value
			}
		}
		end := bytes.LastIndexByte(out, '}')
		for _, tc := range []struct {
			fields string
			want   map[string]float64
		}{
			{`,"cpuTime":0.03,"serverCPUTime":0.01}`, map[string]float64{"cpu.own": 0.04, "cpu.own.client": 0.03, "cpu.own.server": 0.01}},
			{`,"cpuTime":0.03}`, nil}, // a stall lasted over a mark
		} {
			m, err := nativeProbes[name].Parse(Output{Client: append(bytes.Clone(out[:end]), tc.fields...)})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]float64{}
			for _, v := range m.Values {
				if len(v.Name) >= 7 && v.Name[:7] == "cpu.own" {
					got[v.Name] = v.Value
				}
			}
			if len(got) != len(tc.want) {
				t.Errorf("%s with %s: %v, want %v", name, tc.fields, got, tc.want)
			}
			for k, v := range tc.want { // the arrivals of a UDP stream can outlast its window
				if window > 0 && (got[k] > v/window*1.001 || got[k] < v/window*0.5 || math.IsNaN(got[k])) {
					t.Errorf("%s: %s is %g, want %g", name, k, got[k], v/window)
				}
			}
		}
		if _, err := nativeProbes[name].Parse(Output{Client: append(bytes.Clone(out[:end]), `,"cpuTime":-1}`...)}); err == nil {
			t.Errorf("%s: a negative CPU time is accepted", name)
		}
	}
}
