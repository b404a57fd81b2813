package probe

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/record"
)

// Netperf measures bulk throughput with netperf 2.7 (TCP_STREAM, UDP_STREAM), as netserver received
// it. Control uses the server's port, data a port ten above.
type Netperf struct {
	UDP  bool   `yaml:"udp"`  // UDP instead of TCP
	Size int    `yaml:"size"` // bytes per send; 0 is 131072 for TCP, 1400 for UDP
	CC   string `yaml:"cc"`   // congestion control of TCP; empty is cubic
}

// NetperfRR measures response times with netperf 2.7 (TCP_RR, UDP_RR, TCP_CRR), one request at a
// time. Percentiles are in whole microseconds.
type NetperfRR struct {
	UDP     bool   `yaml:"udp"`     // UDP instead of TCP
	Connect bool   `yaml:"connect"` // a new connection per request (TCP_CRR)
	Size    int    `yaml:"size"`    // bytes of request and reply; default 64
	CC      string `yaml:"cc"`      // congestion control of TCP; empty is cubic
}

const netperfPackage = "netperf, of the section non-free (Debian) or multiverse (Ubuntu)"

var netperfTools = []facts.ToolInfo{
	{Program: "netserver", Package: netperfPackage, VersionArgs: []string{"-V"}, Version: `version (\S+)`},
	{Program: "netperf", Package: netperfPackage, VersionArgs: []string{"-V"}, Version: `version (\S+)`},
}

func (p Netperf) Info() Info {
	i := streamBy("netperf", p.UDP, [2]string{"one process per end, which blocks in send and recv; includes the slow start",
		"one send and one recv per datagram, a socket buffer of the kernel's default size; no warm-up"})
	i.Tools, i.NoWarmup, i.SecondPort = netperfTools, true, true
	return i
}

func (p NetperfRR) Info() Info {
	i := responseBy("netperf", p.UDP, "median, in steps of 1 µs; no warm-up")
	if p.Connect {
		i.Title, i.Short, i.Measures = "TCP connect/request/response (netperf)", "TCP connect time by netperf", connectTime
		i.About = "time of a connection, a request and its response over TCP, by netperf"
	}
	i.Tools, i.NoWarmup, i.SecondPort = netperfTools, true, true
	return i
}

func (p Netperf) Check() error {
	return cmp.Or(checkStream("netperf", p.UDP, bulkSize(p.UDP, p.Size), 1, 1), tcpOnly("netperf", p.UDP, p.CC))
}

func (p NetperfRR) Check() error {
	if p.UDP && p.Connect {
		return fmt.Errorf("netperf: connect needs TCP: UDP has no connections")
	}
	return cmp.Or(checkStream("netperf", p.UDP, or(p.Size, defaultMessage), 1, 1), tcpOnly("netperf", p.UDP, p.CC))
}

// Commands implements Probe. Without -R 1, netperf sends UDP past the routing table (SO_DONTROUTE).
func (p Netperf) Commands(w Window) (server, client []string) {
	test := []string{"-m", strconv.Itoa(bulkSize(p.UDP, p.Size))}
	if p.UDP {
		return netperf(w, "UDP_STREAM", append(test, "-R", "1"), netperfStreamKeys)
	}
	return netperf(w, "TCP_STREAM", append(test, w.chooseCC("-K", p.CC)...), netperfStreamKeys+",LOCAL_TRANSPORT_RETRANS,LOCAL_CONG_CONTROL")
}

func (p NetperfRR) Commands(w Window) (server, client []string) {
	size := strconv.Itoa(or(p.Size, defaultMessage))
	test := []string{"-r", size + "," + size}
	if p.UDP {
		return netperf(w, "UDP_RR", test, netperfRRKeys)
	}
	test = append(test, w.chooseCC("-K", p.CC)...)
	if p.Connect {
		return netperf(w, "TCP_CRR", test, netperfRRKeys)
	}
	return netperf(w, "TCP_RR", test, netperfRRKeys+",LOCAL_CONG_CONTROL")
}

// Output selectors of netperf's omni tests, printed as KEY=value.
const (
	netperfStreamKeys = "PROTOCOL,DIRECTION,LOCAL_SEND_SIZE,ELAPSED_TIME,THROUGHPUT_UNITS,REMOTE_RECV_THROUGHPUT,LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD"
	netperfRRKeys     = "PROTOCOL,DIRECTION,REQUEST_SIZE,RESPONSE_SIZE,ELAPSED_TIME,THROUGHPUT_UNITS,THROUGHPUT,MEAN_LATENCY,P50_LATENCY,P99_LATENCY"
)

func netperf(w Window, test string, options []string, keys string) (server, client []string) {
	server = []string{"netserver", "-D", "-L", w.Server.Addr().String(), "-p", port(w)}
	client = []string{"netperf", "-H", w.call().Addr().String(), "-p", callPort(w), "-l", wholeSeconds(w.Duration), "-t", test, "--", "-P", "," + dataPort(w)}
	return server, append(append(client, options...), "-k", keys)
}

func parseNetperf(b []byte, want map[string]string) *fields {
	p := &fields{text: map[string]string{}}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			p.text[k] = v
		}
	}
	if len(p.text) == 0 {
		p.err = fmt.Errorf("no result in %.200q", strings.TrimSpace(string(b)))
	}
	for _, k := range []string{"PROTOCOL", "DIRECTION", "LOCAL_SEND_SIZE", "REQUEST_SIZE", "RESPONSE_SIZE", "THROUGHPUT_UNITS", "LOCAL_CONG_CONTROL"} {
		if w, ok := want[k]; ok && p.err == nil && p.text[k] != w {
			p.err = fmt.Errorf("%s is %q, asked for %q", k, p.text[k], w)
		}
	}
	return p
}

// Parse reads received throughput and window; for TCP also retransmits; for UDP packet.rate, sent,
// delivered and loss. window is bytes divided by rate, because netperf rounds its duration to 10
// ms.
func (p Netperf) Parse(out Output) (Measured, error) {
	size := bulkSize(p.UDP, p.Size)
	want := map[string]string{"PROTOCOL": strings.ToUpper(protocol(p.UDP)), "DIRECTION": "Send", "THROUGHPUT_UNITS": "10^6bits/s", "LOCAL_SEND_SIZE": strconv.Itoa(size)}
	if cc := out.cc(p.CC); !p.UDP && cc != "" {
		want["LOCAL_CONG_CONTROL"] = cc
	}
	f := parseNetperf(out.Client, want)
	m := carrier(p.UDP, size, f.text["LOCAL_CONG_CONTROL"])
	// The end of the test interrupts a send, and the receiver counts part of it.
	t := transfer{slack: float64(size), sent: f.number("LOCAL_BYTES_SENT"), received: f.number("REMOTE_BYTES_RECVD"), size: float64(size)}
	if rate := f.number("REMOTE_RECV_THROUGHPUT"); rate > 0 {
		t.seconds = t.received * 8 / (rate * 1e6)
	}
	if p.UDP {
		m.Values = t.datagrams()
	} else {
		m.Values = []record.Value{t.throughput(), {Name: record.Retransmits, Unit: "1", Value: f.number("LOCAL_TRANSPORT_RETRANS")}, t.window()}
	}
	return checked("netperf", m, cmp.Or(f.err, t.check()))
}

// Parse reads rtt (s, median), rtt.p99 (s, if at least ten response times lie above it), rtt.mean
// (s), transactions (1/s) and window.
func (p NetperfRR) Parse(out Output) (Measured, error) {
	size := or(p.Size, defaultMessage)
	want := map[string]string{"PROTOCOL": strings.ToUpper(protocol(p.UDP)), "DIRECTION": "Send|Recv", "THROUGHPUT_UNITS": "Trans/s",
		"REQUEST_SIZE": strconv.Itoa(size), "RESPONSE_SIZE": strconv.Itoa(size)}
	switch cc := out.cc(p.CC); {
	case p.Connect:
		want["DIRECTION"] = "Connect|Send|Recv"
	case !p.UDP && cc != "":
		want["LOCAL_CONG_CONTROL"] = cc
	}
	f := parseNetperf(out.Client, want)
	m := carrier(p.UDP, size, f.text["LOCAL_CONG_CONTROL"])
	if p.Connect { // the connections are gone, and with them their congestion control
		m.Observed = nil
	}
	rate, seconds := f.number("THROUGHPUT"), f.number("ELAPSED_TIME")
	p50, p99, mean := f.number("P50_LATENCY")/1e6, f.number("P99_LATENCY")/1e6, f.number("MEAN_LATENCY")/1e6
	// Sequential transactions cannot take longer than the window, which netperf rounds to 10 ms.
	if f.err == nil && (!(rate > 0 && seconds > 0 && mean > 0) || rate*mean > 1.02) {
		f.err = fmt.Errorf("%v transactions/s of %v s each do not fit", rate, mean)
	}
	if f.err == nil && p.UDP {
		f.err = stoodStill(rate*seconds, mean, seconds)
	}
	m.Values = []record.Value{{Name: record.RTT, Unit: "s", Value: p50}}
	m.Values = append(m.Values, tails(rate*seconds, p99, 0)...)
	m.Values = append(m.Values,
		record.Value{Name: record.RTTMean, Unit: "s", Value: mean},
		record.Value{Name: record.Transactions, Unit: "1/s", Value: rate},
		record.Value{Name: record.Window, Unit: "s", Value: seconds})
	return checked("netperf", m, f.err)
}
