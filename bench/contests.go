package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/record"
)

// A contest is one thing that several tools measure. The first contender is the engine.
type contest struct {
	name, unit string
	contenders []contender
}

type contender struct {
	name  string
	probe probe.Probe
}

// label is the name of a contender's probe in the study.
func (c contest) label(p contender) string {
	return strings.ReplaceAll(c.name+"."+p.name, " ", "-")
}

func contests(limit string) []contest {
	c := func(args ...string) []string { return append([]string{limit}, args...) }
	return []contest{
		{"TCP one stream", "bit/s", []contender{
			{"engine", &probe.TCPStream{}},
			{"C", program{c("tcp-recv", "ADDR", "PORT"), c("tcp-send", "ADDR", "PORT", "SECONDS"), "throughput", "bit/s", 1, fromServer, `^(\d+)`}},
			{"iperf3", &probe.Iperf3{}},
			{"iperf", &probe.Iperf2{}},
			{"nuttcp", &probe.Nuttcp{}},
		}},
		{"UDP 1400 bytes", "bit/s", []contender{
			{"engine", &probe.UDPStream{Send: "gso", Recv: "gro"}},
			{"engine, one send each", &probe.UDPStream{}},
			{"iperf3", &probe.Iperf3{UDP: true}},
		}},
		{"UDP 18 bytes", "packet/s", []contender{
			{"engine", &probe.UDPRate{}},
			{"engine, sendmmsg", &probe.UDPRate{Send: "mmsg"}},
			{"C", program{c("udp-recv", "ADDR", "PORT"), c("udp-send", "ADDR", "PORT", "SECONDS", "18"), "packet.rate", "packet/s", 1, fromServer, `^(\d+)`}},
			{"iperf3", iperf3Packets{probe.Iperf3{UDP: true, Size: 18}}},
		}},
		{"UDP response time, spinning", "1/s", []contender{
			{"engine", perSecond{&probe.UDPRR{Spin: true}}},
			{"C", program{c("rr-serve", "ADDR", "PORT"), c("rr-ask", "ADDR", "PORT", "SECONDS"), "transactions", "1/s", 1, fromClient, `^(\d+)`}},
		}},
		{"UDP response time, blocking", "s", []contender{
			{"engine", &probe.UDPRR{}},
			{"sockperf", &probe.SockperfRR{}},
			{"qperf", &probe.QperfRR{UDP: true}},
		}},
	}
}

const (
	fromClient = false
	fromServer = true
)

// A program is a tool whose output holds one number.
type program struct {
	server, client []string // ADDR, PORT and SECONDS are filled in
	value, unit    string
	factor         float64 // of the number that it prints
	atServer       bool    // which of the two prints it
	pattern        string  // its first group is the number
}

func (p program) Commands(w probe.Window) (server, client []string) {
	fill := strings.NewReplacer("ADDR", w.Server.Addr().String(), "PORT", strconv.Itoa(int(w.Server.Port())),
		"SECONDS", strconv.Itoa(int(w.Duration.Seconds())))
	for _, a := range p.server {
		server = append(server, fill.Replace(a))
	}
	for _, a := range p.client {
		client = append(client, fill.Replace(a))
	}
	return server, client
}

func (p program) Parse(o probe.Output) (probe.Measured, error) {
	out := o.Client
	if p.atServer {
		out = o.Server
	}
	m := regexp.MustCompile(p.pattern).FindSubmatch(out)
	if m == nil {
		return probe.Measured{}, fmt.Errorf("%s: no %s in %.200q", p.client[0], p.pattern, out)
	}
	v, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil || v <= 0 {
		return probe.Measured{}, fmt.Errorf("%s: %q is no result", p.client[0], m[1])
	}
	return probe.Measured{Values: []record.Value{{Name: p.value, Unit: p.unit, Value: v * p.factor}}}, nil
}

// first moves a value to the front.
func first(m probe.Measured, err error, name string) (probe.Measured, error) {
	for i, v := range m.Values {
		if v.Name == name {
			m.Values[0], m.Values[i] = m.Values[i], m.Values[0]
			return m, err
		}
	}
	if err == nil {
		err = fmt.Errorf("no value %s", name)
	}
	return probe.Measured{}, err
}

// iperf3Packets is iperf3 by packets per second.
type iperf3Packets struct{ probe.Iperf3 }

func (p iperf3Packets) Parse(o probe.Output) (probe.Measured, error) {
	m, err := p.Iperf3.Parse(o)
	return first(m, err, "packet.rate")
}

// perSecond is a request/response probe by transactions per second.
type perSecond struct{ *probe.UDPRR }

func (p perSecond) Parse(o probe.Output) (probe.Measured, error) {
	m, err := p.UDPRR.Parse(o)
	return first(m, err, "transactions")
}
