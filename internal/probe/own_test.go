package probe

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/record"
)

// What the ends used is kept for evidence, and waits are values. A missing wait is unknown, not 0.
func TestEnds(t *testing.T) {
	const own = `,"cpuTime":0.03,"serverCPUTime":0.01`
	client, server := record.CPUWait.At("client"), record.CPUWait.At("server")
	for _, name := range []string{"tcp-stream", "udp-stream", "udp-rate", "udp-capacity", "tcp-rr", "udp-rr", "udp-open", "tcp-crr"} {
		out := read(t, "testdata/native/1-"+name+".out")
		parse := func(fields string) (Measured, error) {
			end := bytes.LastIndexByte(out, '}')
			return nativeProbes[name].Parse(Output{Client: append(bytes.Clone(out[:end]), fields+"}"...)})
		}
		for _, tc := range []struct {
			fields string
			want   map[record.Key]float64 // values × window
			client evidence.End
			server evidence.End
		}{
			{"", nil, evidence.End{}, evidence.End{}},
			{own, nil, evidence.End{CPU: 0.03}, evidence.End{CPU: 0.01}},
			{own + `,"waitTime":0.002`, map[record.Key]float64{client: 0.002}, evidence.End{CPU: 0.03, Wait: 0.002}, evidence.End{CPU: 0.01}},
			{own + `,"waitTime":0,"serverWaitTime":0.001`, map[record.Key]float64{client: 0, server: 0.001}, evidence.End{CPU: 0.03}, evidence.End{CPU: 0.01, Wait: 0.001}},
		} {
			m, err := parse(tc.fields)
			if err != nil {
				t.Fatalf("%s with %s: %v", name, tc.fields, err)
			}
			got := map[record.Key]float64{}
			for _, v := range m.Values {
				if v.Name == record.CPUWait {
					got[v.Key()] = v.Value
				}
			}
			if !reflect.DeepEqual(m.Client, tc.client) || !reflect.DeepEqual(m.Server, tc.server) || len(got) != len(tc.want) {
				t.Errorf("%s with %s: %v, client %+v, server %+v", name, tc.fields, got, m.Client, m.Server)
			}
			for k, v := range tc.want { // the time of a UDP stream is that of its arrivals
				if _, ok := got[k]; !ok || got[k] > v/m.Window*1.001 || got[k] < v/m.Window*0.5 {
					t.Errorf("%s with %s: %s is %g, want %g", name, tc.fields, k, got[k], v/m.Window)
				}
			}
		}
		for _, bad := range []string{`,"waitTime":-1`, `,"serverWaitTime":-1`, `,"tcp":{"busy":-1}`, `,"serverTCP":{"segmentsOut":-1}`, `,"waitTime":"long"`} {
			if m, err := parse(bad); err == nil {
				t.Errorf("%s: %s is accepted: %+v", name, bad, m)
			}
		}
	}
}

// TCP_INFO is kept at both ends, and the shares of the sender's limits are values.
func TestConnections(t *testing.T) {
	const info = `,"tcp":{"busy":0.2,"rwndLimited":0.05,"sndbufLimited":0.02,"segmentsOut":1000,"retransmitted":3},"serverTCP":{"busy":0,"rwndLimited":0,"sndbufLimited":0,"segmentsOut":500,"retransmitted":1}}`
	for name, want := range map[string]map[record.Quantity]float64{
		"tcp-stream": {"tcp.rwnd.limited": 0.25, "tcp.sndbuf.limited": 0.1}, "tcp-rr": {"tcp.retransmitted": 4},
	} {
		out := read(t, "testdata/native/1-"+name+".out")
		m, err := nativeProbes[name].Parse(Output{Client: append(bytes.Clone(out[:bytes.LastIndexByte(out, '}')]), info...)})
		if err != nil {
			t.Fatal(err)
		}
		got := map[record.Quantity]float64{}
		for _, v := range m.Values {
			if v.Name.In(record.TCPRetransmitted, record.TCPRwndLimited, record.TCPSndbufLimited) {
				got[v.Name] = math.Round(1e6*v.Value) / 1e6
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if !reflect.DeepEqual(m.Client.TCP, &evidence.TCP{Busy: 0.2, RwndLimited: 0.05, SndbufLimited: 0.02, SegmentsOut: 1000, Retransmitted: 3}) ||
			!reflect.DeepEqual(m.Server.TCP, &evidence.TCP{SegmentsOut: 500, Retransmitted: 1}) {
			t.Errorf("%s: %+v and %+v", name, m.Client.TCP, m.Server.TCP)
		}
	}
}

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
			want   map[record.Key]float64
		}{
			{`,"cpuTime":0.03,"serverCPUTime":0.01}`, map[record.Key]float64{record.CPUOwn.Whole(): 0.04, record.CPUOwn.At("client"): 0.03, record.CPUOwn.At("server"): 0.01}},
			{`,"cpuTime":0.03}`, nil}, // a stall lasted over a mark
		} {
			m, err := nativeProbes[name].Parse(Output{Client: append(bytes.Clone(out[:end]), tc.fields...)})
			if err != nil {
				t.Fatal(err)
			}
			got := map[record.Key]float64{}
			for _, v := range m.Values {
				if v.Name == record.CPUOwn {
					got[v.Key()] = v.Value
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
