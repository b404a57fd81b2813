package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/record"
)

// A contest is a quantity that several tools measure. The first contender is the engine.
type contest struct {
	name, unit string
	contenders []contender
}

type contender struct {
	name  string
	probe probe.Probe
	// goal is the engine's target relative to this contender on host: a minimum, or a maximum if
	// smaller is better; 0 for none.
	goal float64
}

func (c contest) label(p contender) string {
	return strings.ReplaceAll(c.name+"."+p.name, " ", "-")
}

type others struct {
	newIperf3 string // a newer iperf3 than the one on the path
	neper     string // the directory of neper's programs
	cc        string // the congestion control of who does not choose one
}

func contests(limit string, o others) []contest {
	c := func(args ...string) []string { return append([]string{limit}, args...) }
	tcp := []contender{
		{"engine", &probe.TCPStream{}, 0},
		{"C", program{c("tcp-recv", "ADDR", "PORT"), c("tcp-send", "ADDR", "PORT", "SECONDS"), "throughput", "bit/s", fromServer, `^(\d+)`}, 0.98},
		{"iperf3", &probe.Iperf3{}, 0},
		{"iperf3 with the machine's default, " + o.cc, &probe.Iperf3{CC: o.cc}, 3},
		{"netperf", &probe.Netperf{}, 1},
		{"iperf", &probe.Iperf2{}, 0},
		{"nuttcp", &probe.Nuttcp{}, 0},
	}
	if o.neper != "" {
		tcp = append(tcp, contender{"neper", program{
			strings.Fields(o.neper + "/tcp_stream -l SECONDS -C PORT -P 5301 --congestion-control=cubic -B 131072 -I 0.2"),
			strings.Fields(o.neper + "/tcp_stream -c -H ADDR -l SECONDS -C PORT -P 5301 --congestion-control=cubic -B 131072 -I 0.2"),
			"throughput", "bit/s", fromServer, `local_throughput=(\d+)`}, 0})
	}
	udp := []contender{
		{"engine", &probe.UDPStream{Send: "gso", Recv: "gro"}, 0},
		{"engine, one send each", &probe.UDPStream{}, 0},
		{"iperf3", &probe.Iperf3{UDP: true}, 8},
	}
	if o.newIperf3 != "" {
		udp = append(udp, contender{"newest iperf3 with GSO and GRO", newer{probe.Iperf3{UDP: true, GSO: true}, o.newIperf3}, 1.15})
	}
	return []contest{
		{"TCP one stream", "bit/s", tcp},
		{"UDP 1400 bytes", "bit/s", udp},
		{"UDP 18 bytes", "packet/s", []contender{
			{"engine", &probe.UDPRate{}, 0},
			{"C", program{c("udp-recv", "ADDR", "PORT"), c("udp-send", "ADDR", "PORT", "SECONDS", "18"), "packet.rate", "packet/s", fromServer, `^(\d+)`}, 0.97},
			{"iperf3", by{"packet.rate", probe.Iperf3{UDP: true, Size: 18}}, 1},
			{"netperf", by{"packet.rate", &probe.Netperf{UDP: true, Size: 18}}, 1},
		}},
		{"UDP 18 bytes, the fastest mode", "packet/s", []contender{
			{"engine, GSO and GRO", &probe.UDPRate{Send: "gso", Recv: "gro"}, 0},
			{"engine, sendmmsg", &probe.UDPRate{Send: "mmsg"}, 0},
			{"C, one send each", program{c("udp-recv", "ADDR", "PORT"), c("udp-send", "ADDR", "PORT", "SECONDS", "18"), "packet.rate", "packet/s", fromServer, `^(\d+)`}, 1.2},
		}},
		{"UDP response time, spinning", "1/s", []contender{
			{"engine", by{"transactions", &probe.UDPRR{Spin: true}}, 0},
			{"C", program{c("rr-serve", "ADDR", "PORT"), c("rr-ask", "ADDR", "PORT", "SECONDS"), "transactions", "1/s", fromClient, `^(\d+)`}, 0.98},
		}},
		{"UDP response time, blocking, median", "s", []contender{
			{"engine", &probe.UDPRR{}, 0},
			{"sockperf", &probe.SockperfRR{}, 1},
			{"qperf, mean", &probe.QperfRR{UDP: true}, 0},
			{"netperf", &probe.NetperfRR{UDP: true}, 0},
		}},
		{"UDP response time, blocking, 99.9th percentile", "s", []contender{
			{"engine", by{"rtt.p999", longer{&probe.UDPRR{}}}, 0},
			{"sockperf", by{"rtt.p999", longer{&probe.SockperfRR{}}}, 1},
		}},
	}
}

const (
	fromClient = false
	fromServer = true
)

type program struct {
	server, client []string // ADDR, PORT and SECONDS are filled in
	value, unit    string
	atServer       bool   // which of the two prints it
	pattern        string // its first group is the number
}

func (p program) Info() probe.Info {
	return probe.Info{Title: p.client[0], Unit: p.unit, Tools: []facts.ToolInfo{{Program: p.server[0]}, {Program: p.client[0]}}}
}

func (p program) Commands(w probe.Window) (server, client []string) {
	fill := strings.NewReplacer("ADDR", w.Server.Addr().String(), "PORT", strconv.Itoa(int(w.Server.Port())),
		"SECONDS", strconv.Itoa(int(w.Duration.Seconds())))
	each := func(args []string) (filled []string) {
		for _, a := range args {
			filled = append(filled, fill.Replace(a))
		}
		return filled
	}
	return each(p.server), each(p.client)
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
	return probe.Measured{Values: []record.Value{{Name: p.value, Unit: p.unit, Value: v}}}, nil
}

// by is a probe with another of its values first.
type by struct {
	value string
	probe.Probe
}

func (b by) Parse(o probe.Output) (probe.Measured, error) {
	m, err := b.Probe.Parse(o)
	for i, v := range m.Values {
		if v.Name == b.value {
			m.Values[0], m.Values[i] = m.Values[i], m.Values[0]
			return m, err
		}
	}
	if err == nil {
		err = fmt.Errorf("no value %s", b.value)
	}
	return probe.Measured{}, err
}

// longer measures rare events for three times as long.
type longer struct{ probe.Probe }

func (l longer) Commands(w probe.Window) (server, client []string) {
	w.Duration *= 3
	return l.Probe.Commands(w)
}

type newer struct {
	probe.Iperf3
	program string
}

func (n newer) Info() probe.Info {
	i := n.Iperf3.Info()
	i.Tools = []facts.ToolInfo{{Program: n.program}}
	return i
}

func (n newer) Commands(w probe.Window) (server, client []string) {
	server, client = n.Iperf3.Commands(w)
	server[0], client[0] = n.program, n.program
	return server, client
}
