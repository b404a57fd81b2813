package probe

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/record"
)

// Qperf measures throughput with qperf 0.4 (tcp_bw, udp_bw), as the receiver reports it.
//
// Its server listens on every address. Control uses the server's port, data a port ten above. qperf
// cannot set the congestion control, so both ends use the kernel's default.
type Qperf struct {
	UDP  bool `yaml:"udp"`  // UDP instead of TCP
	Size int  `yaml:"size"` // bytes per message or datagram; 0 is 131072 for TCP, 1400 for UDP
}

// QperfRR measures mean response times with qperf 0.4 (tcp_lat, udp_lat). qperf prints half of the
// mean round trip, which the probe doubles; it reports no median or percentiles.
type QperfRR struct {
	UDP  bool `yaml:"udp"`  // UDP instead of TCP
	Size int  `yaml:"size"` // bytes of request and reply; default 64
}

var qperfTools = []facts.ToolInfo{{Program: "qperf", Package: "qperf", VersionArgs: []string{"--version"}, Version: `qperf (\S+)`}}

func (p Qperf) Info() Info {
	i := streamBy("qperf", p.UDP, [2]string{kernelBulk, kernelDatagrams})
	i.Tools, i.NoWarmup, i.SecondPort = qperfTools, true, true
	return i
}

func (p QperfRR) Info() Info {
	i := responseBy("qperf", p.UDP, "mean instead of median: slow responses raise it; qperf prints half the round trip, which weir doubles; over UDP it waits for a lost reply until its time is up, and that wait raises the mean; no warm-up")
	i.Tools, i.NoWarmup, i.SecondPort = qperfTools, true, true
	return i
}

func (p Qperf) Check() error { return checkStream("qperf", p.UDP, bulkSize(p.UDP, p.Size), 1, 1) }

func (p QperfRR) Check() error { return checkStream("qperf", p.UDP, or(p.Size, defaultMessage), 1, 1) }

func (p Qperf) Commands(w Window) (server, client []string) {
	return qperf(w, protocol(p.UDP)+"_bw", bulkSize(p.UDP, p.Size))
}

func (p QperfRR) Commands(w Window) (server, client []string) {
	return qperf(w, protocol(p.UDP)+"_lat", or(p.Size, defaultMessage))
}

// qperf requests single units (-uu) with enough digits (-e), by local and remote end (-un), with
// counts (-vvs, -vvt) and settings (-vu).
func qperf(w Window, test string, size int) (server, client []string) {
	server = []string{"qperf", "-lp", port(w)}
	return server, []string{"qperf", "-lp", callPort(w), "-ip", dataPort(w), "-t", wholeSeconds(w.Duration), "-m", strconv.Itoa(size),
		"-uu", "-e", "9", "-un", "-vvs", "-vvt", "-vu", w.call().Addr().String(), test}
}

var qperfLineRE = regexp.MustCompile(`(?m)^ +(\w+) += +(\S+) ?(\S*) *$`)

// qperfUnits are the units that remain with -uu; the parser skips others.
var qperfUnits = []string{"bytes", "bytes/sec", "ns", "/sec", "%", ""}

// parseQperf reads lines "    name  =  number unit" below the name of the test.
func parseQperf(b []byte, test string, size int) *fields {
	p := &fields{text: map[string]string{}}
	rest, ok := strings.CutPrefix(string(b), test+":\n")
	lines := qperfLineRE.FindAllSubmatch(b, -1)
	switch {
	case !ok:
		p.err = fmt.Errorf("output %.60q is not from %s", b, test)
	case len(lines) == 0:
		p.err = fmt.Errorf("no result: %s", strings.Join(strings.Fields(rest), " "))
	}
	for _, m := range lines {
		if slices.Contains(qperfUnits, string(m[3])) {
			p.text[string(m[1])] = string(m[2])
		}
	}
	if got := p.number("msg_size"); p.err == nil && int(got) != size {
		p.err = fmt.Errorf("messages of %v bytes, asked for %d", got, size)
	}
	return p
}

// Parse reads received throughput and window; for UDP also packet.rate, sent, delivered and loss.
func (p Qperf) Parse(out Output) (Measured, error) {
	size := bulkSize(p.UDP, p.Size)
	m := carrier(p.UDP, size, kernelCC)
	f := parseQperf(out.Client, m.Protocol+"_bw", size)
	// The end of the test interrupts a send, which the sender does not count.
	t := transfer{slack: float64(size), sent: f.number("loc_send_bytes"), received: f.number("rem_recv_bytes"),
		seconds: f.number("rem_real_time") / 1e9, size: float64(size)}
	if p.UDP {
		m.Values = t.datagrams()
	} else {
		m.Values = []record.Value{t.throughput(), t.window()}
	}
	return checked("qperf", m, cmp.Or(f.err, t.check()))
}

// Parse reads rtt.mean (s), transactions (1/s) and window.
func (p QperfRR) Parse(out Output) (Measured, error) {
	size := or(p.Size, defaultMessage)
	f := parseQperf(out.Client, protocol(p.UDP)+"_lat", size)
	latency, n, seconds := f.number("latency")/1e9, f.number("loc_recv_msgs"), f.number("loc_real_time")/1e9
	// Sequential transactions fill the window, within 2 % for the first and last.
	if f.err == nil && (!(latency > 0 && seconds > 0 && n > 0) || 2*latency*(n-2) > seconds*1.02) {
		f.err = fmt.Errorf("%.0f round trips of twice %v s do not fit %v s", n, latency, seconds)
	}
	m := carrier(p.UDP, size, kernelCC)
	record.RTTDoubled.Put(m.Observed, true)
	m.Values = []record.Value{
		{Name: record.RTTMean, Unit: "s", Value: 2 * latency},
		{Name: record.Transactions, Unit: "1/s", Value: n / seconds},
		{Name: record.Window, Unit: "s", Value: seconds}}
	return checked("qperf", m, f.err)
}
