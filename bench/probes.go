package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/record"
)

// probes are those of bench/engine.yaml that weir lacks. weir skips a program that is not installed:
// `make bench` compiles c-limit of bench/c/limit.c; iperf3-new is an iperf3 that knows --gsro (3.21), and
// tcp_stream is neper's.
var probes = map[string]func() probe.Probe{
	"c-tcp-cold":     func() probe.Probe { return &cold{cTCP("tcp-recv", "tcp-send")} },
	"c-tcp-warm":     func() probe.Probe { return cTCP("tcp-recv", "tcp-send") },
	"c-tcp-sendfile": func() probe.Probe { return cTCP("tcp-recv", "tcp-sendfile") },
	"c-tcp-zerocopy": func() probe.Probe { return cTCP("tcp-recv", "tcp-zerocopy") },
	"c-tcp-discard":  func() probe.Probe { return cTCP("tcp-discard", "tcp-send") },
	"c-udp":          func() probe.Probe { return cUDP("udp-recv", "udp-send") },
	"c-udp-nap":      func() probe.Probe { return cUDP("udp-nap", "udp-send") },
	"c-udp-xdp":      func() probe.Probe { return cUDP("udp-nap", "xdp-send") },
	"c-udp-mmsg":     func() probe.Probe { return cUDP("udp-nap", "mmsg-send") },
	"c-gso": func() probe.Probe {
		return &program{"c-limit gso-recv ADDR PORT WARMUP", "c-limit gso-send ADDR PORT TOTAL 1400", record.Throughput, "bit/s", true, `^(\d+)`, nil}
	},
	"c-rr": func() probe.Probe {
		return &program{"c-limit rr-serve ADDR PORT", "c-limit rr-ask ADDR PORT SECONDS", record.Transactions, "1/s", false, `^(\d+)`, nil}
	},
	"c-rr-measure": func() probe.Probe {
		return &program{"c-limit rr-serve ADDR PORT", "c-limit rr-measure ADDR PORT SECONDS", record.Transactions, "1/s", false, `^(\d+) ([\d.]+) ([\d.]+)`, []record.Quantity{record.RTTMax, record.RTTPauses}}
	},
	"c-wait":      func() probe.Probe { return cWait("wait-serve", "wait-measure") },
	"c-wait-long": func() probe.Probe { return &longer{cWait("wait-serve", "wait-measure")} },
	"c-tcp-rr":    func() probe.Probe { return cWait("tcp-serve", "tcp-measure") },
	"c-tcp-crr":   func() probe.Probe { return cWait("crr-serve", "crr-measure") },
	"neper-tcp": func() probe.Probe {
		const options = " -l SECONDS -C PORT -P 5301 --congestion-control=cubic -B 131072 -I 0.2 --nolog"
		return &program{"tcp_stream" + options, "tcp_stream -c -H ADDR" + options, record.Throughput, "bit/s", true, `local_throughput=(\d+)`, nil}
	},
	"iperf3-default":   func() probe.Probe { return &probe.Iperf3{CC: congestionControl()} },
	"iperf3-new":       func() probe.Probe { return &newer{probe.Iperf3{UDP: true, GSO: true}} },
	"tcp-cold":         func() probe.Probe { return &cold{&probe.TCPStream{}} },
	"udp-rr-unstamped": func() probe.Probe { return &unstamped{probe.UDPRR{Spin: true}} },
	"udp-rr-long":      func() probe.Probe { return &longer{probe.UDPRR{}} },
	"sockperf-rr-long": func() probe.Probe { return &longer{probe.SockperfRR{}} },
}

// cTCP is the C program after the engine's warm-up.
func cTCP(receive, send string) probe.Probe {
	return &program{"c-limit " + receive + " ADDR PORT WARMUP", "c-limit " + send + " ADDR PORT TOTAL", record.Throughput, "bit/s", true, `^(\d+) ([\d.]+)`, []record.Quantity{record.Silence}}
}

// cWait is the C program that blocks until a reply comes.
func cWait(serve, measure string) probe.Probe {
	return &program{"c-limit " + serve + " ADDR PORT", "c-limit " + measure + " ADDR PORT SECONDS", record.RTT, "s", false, `^\S+ \S+ \S+ ([\d.]+) ([\d.]+)`, []record.Quantity{record.RTTP999}}
}

func cUDP(receive, send string) probe.Probe {
	return &program{"c-limit " + receive + " ADDR PORT", "c-limit " + send + " ADDR PORT SECONDS 18", record.PacketRate, "packet/s", true, `^(\d+)`, nil}
}

// congestionControl returns that of programs that do not choose one.
func congestionControl() string {
	b, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control") // the probe's default without it
	return strings.TrimSpace(string(b))
}

// pause is the response time from which a request counts as a pause.
const pause = 100 * time.Microsecond

// A program prints a number, and seconds that have these names. ADDR, PORT and SECONDS stand for themselves in its command lines.
type program struct {
	server, client string
	value          record.Quantity
	unit           string
	atServer       bool   // the server prints it
	pattern        string // its groups are the number and the seconds
	seconds        []record.Quantity
}

func (p *program) Info() probe.Info {
	name := strings.Fields(p.client)[0]
	return probe.Info{Title: name, Short: name, Unit: p.unit, Tools: []facts.ToolInfo{{Program: name}}}
}

func (p *program) Commands(w probe.Window) (server, client []string) {
	fill := strings.NewReplacer("ADDR", w.Server.Addr().String(), "PORT", strconv.Itoa(int(w.Server.Port())),
		"SECONDS", seconds(w.Duration), "WARMUP", seconds(w.Warmup), "TOTAL", seconds(w.Warmup+w.Duration))
	return strings.Fields(fill.Replace(p.server)), strings.Fields(fill.Replace(p.client))
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'g', -1, 64) }

func (p *program) Parse(o probe.Output) (probe.Measured, error) {
	out := o.Client
	if p.atServer {
		out = o.Server
	}
	m := regexp.MustCompile(p.pattern).FindSubmatch(out)
	if m == nil {
		return probe.Measured{}, fmt.Errorf("%s: no %s in %.200q", p.client, p.pattern, out)
	}
	v, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil || v <= 0 {
		return probe.Measured{}, fmt.Errorf("%s: invalid result %q", p.client, m[1])
	}
	values := []record.Value{{Name: p.value, Unit: p.unit, Value: v}}
	for i, name := range p.seconds {
		v, err := strconv.ParseFloat(string(m[2+i]), 64)
		if err != nil || v < 0 {
			return probe.Measured{}, fmt.Errorf("%s: invalid %s %q", p.client, name, m[2+i])
		}
		values = append(values, record.Value{Name: name, Unit: "s", Value: v})
	}
	return probe.Measured{Values: values}, nil
}

// unstamped measures without the kernel's time stamps.
type unstamped struct{ probe.UDPRR }

func (u *unstamped) Commands(w probe.Window) (server, client []string) {
	server, client = u.UDPRR.Commands(w)
	return server, append(client, "--stamp-every", "0")
}

// Parse adds the longest response time, which probes leave out because it is one event, and the pauses.
func (u *unstamped) Parse(out probe.Output) (probe.Measured, error) {
	m, err := u.UDPRR.Parse(out)
	if err != nil {
		return m, err
	}
	h, err := event.DecodeHist(m.Values[0].Hist)
	if err != nil {
		return m, fmt.Errorf("the longest response time: %w", err)
	}
	paused, all := 0.0, 0.0
	for _, b := range h.Distribution() {
		took := float64(b.Count) * float64(b.From+b.To) / 2
		if all += took; b.From > pause.Nanoseconds() {
			paused += took
		}
	}
	m.Values = append(m.Values, record.Value{Name: record.RTTMax, Unit: "s", Value: float64(h.Max()) / 1e9},
		record.Value{Name: record.RTTPauses, Unit: "s", Value: paused / all}) // spinning ends always have one request under way
	return m, nil
}

// cold counts from the first byte, as tools without a warm-up do.
type cold struct{ probe.Probe }

func (c *cold) Commands(w probe.Window) (server, client []string) {
	w.Warmup = 0
	return c.Probe.Commands(w)
}

// longer measures rare events for three times as long.
type longer struct{ probe.Probe }

func (l *longer) Commands(w probe.Window) (server, client []string) {
	w.Duration *= 3
	return l.Probe.Commands(w)
}

// newer is another iperf3 than the one that the machine's packages have.
type newer struct{ probe.Iperf3 }

const newIperf3 = "iperf3-new"

func (n *newer) Info() probe.Info {
	i := n.Iperf3.Info()
	i.Tools = []facts.ToolInfo{{Program: newIperf3}}
	return i
}

func (n *newer) Commands(w probe.Window) (server, client []string) {
	server, client = n.Iperf3.Commands(w)
	server[0], client[0] = newIperf3, newIperf3
	return server, client
}
