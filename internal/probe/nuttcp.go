package probe

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/record"
)

// Nuttcp measures bulk TCP or UDP throughput with nuttcp 6.1, as the receiver reports it.
//
// Its server listens on every address. Control uses the server's port, data a port ten above.
// nuttcp cannot set the congestion control, so both ends use the kernel's default.
type Nuttcp struct {
	UDP     bool    `yaml:"udp"`     // UDP instead of TCP
	Streams int     `yaml:"streams"` // in parallel, 1 to 128; 0 is 1
	Size    int     `yaml:"size"`    // bytes per write or datagram; 0 is 131072 for TCP, 1400 for UDP
	Rate    Bitrate `yaml:"rate"`    // bit/s of payload, all streams together, at least 1 kbit/s; 0 is as fast as possible
}

// nuttcpMinUDP is the size of a datagram's sequence number in bytes.
const nuttcpMinUDP = 8

func (p Nuttcp) Info() Info {
	i := streamBy("nuttcp", p.UDP, [2]string{kernelBulk, kernelDatagrams})
	i.Tools = []facts.ToolInfo{{Program: "nuttcp", Package: "nuttcp", VersionArgs: []string{"-V"}, Version: `nuttcp-(\S+)`}}
	i.NoWarmup, i.SecondPort = true, true
	return i
}

func (p Nuttcp) Check() error {
	if kbit := p.Rate / 1000; kbit != Bitrate(int(kbit)) {
		return fmt.Errorf("nuttcp: rate %v is not a whole number of kbit/s, its unit", float64(p.Rate))
	}
	return checkStream("nuttcp", p.UDP, bulkSize(p.UDP, p.Size), nuttcpMinUDP, or(p.Streams, 1))
}

// Commands implements Probe. The server serves one client in the foreground (--nofork). The rate is
// in kbit/s; 0 is unlimited, while the default for UDP is 1 Mbit/s.
func (p Nuttcp) Commands(w Window) (server, client []string) {
	server = []string{"nuttcp", "-1", "--nofork", "-P", port(w)}
	client = []string{"nuttcp", "-P", callPort(w), "-p", dataPort(w), "-T", wholeSeconds(w.Duration),
		"-l" + strconv.Itoa(bulkSize(p.UDP, p.Size)), "-R" + strconv.Itoa(int(p.Rate/1000)), "-v", "-fparse"}
	if n := or(p.Streams, 1); n > 1 {
		client = append(client, "-N"+strconv.Itoa(n))
	}
	if p.UDP {
		client = append(client, "-u")
	}
	if w.Server.Addr().Is6() {
		server, client = append(server, "-6"), append(client, "-6")
	}
	return server, append(client, w.call().Addr().String())
}

var (
	nuttcpPairRE    = regexp.MustCompile(`(\w+)=(\S+)`)
	nuttcpVersionRE = regexp.MustCompile(`(?m)^nuttcp-t: v(\d\S*): `)
)

// nuttcpSide returns the key=value pairs of lines with this prefix. Repeated keys have equal
// values.
func nuttcpSide(b []byte, prefix string) *fields {
	p := &fields{text: map[string]string{}}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			for _, m := range nuttcpPairRE.FindAllStringSubmatch(rest, -1) {
				p.text[m[1]] = m[2]
			}
		}
	}
	return p
}

// Parse reads, for TCP, throughput, retransmits (sender's, with one stream only) and window; for
// UDP, received throughput and packet.rate, offered (with a rate), sent and delivered (packet/s),
// loss (0 to 1) and window; for both, cpu.tool.sender and cpu.tool.receiver (core): nuttcp's own
// CPU time, without the kernel's work on its behalf. window is bytes divided by rate, because
// nuttcp rounds its duration to 10 ms.
func (p Nuttcp) Parse(out Output) (Measured, error) {
	m, err := p.parse(out.Client)
	return checked("nuttcp", m, err)
}

func (p Nuttcp) parse(b []byte) (Measured, error) {
	version := nuttcpVersionRE.FindSubmatch(b)
	if version == nil {
		return Measured{}, fmt.Errorf("output %.60q has no transfer", b)
	}
	tx, rx := nuttcpSide(b, "nuttcp-t: "), nuttcpSide(b, "nuttcp-r: ")
	m := carrier(p.UDP, bulkSize(p.UDP, p.Size), kernelCC)
	record.Tool.Put(m.Observed, "nuttcp "+string(version[1]))
	if got := rx.text["mode"]; got != m.Protocol {
		return m, fmt.Errorf("the receiver measured %q, asked for %q", got, m.Protocol)
	}
	const mebi = 1 << 20
	t := transfer{sent: tx.number("megabytes") * mebi, received: rx.number("megabytes") * mebi,
		size: rx.number("buflen"), offered: float64(p.Rate)}
	if mbit := rx.number("rate_Mbps"); mbit > 0 {
		t.seconds = t.received * 8 / (mbit * 1e6)
	}
	var own []record.Value
	for _, side := range []struct {
		name string
		of   *fields
	}{{"sender", tx}, {"receiver", rx}} {
		side.of.text["cpu"] = strings.TrimSuffix(side.of.text["cpu"], "%")
		own = append(own, record.CPUTool.At(side.name).Value("core", side.of.number("cpu")/100))
	}
	if err := errors.Join(tx.err, rx.err); err != nil {
		return m, err
	}
	// Megabytes have four decimals, so the two can differ by 0.0001 for the same bytes.
	t.slack = mebi / 1e4
	if err := t.check(); err != nil {
		return m, err
	}
	if p.UDP {
		if int(t.size) != m.Datagram {
			return m, fmt.Errorf("datagrams of %v bytes, asked for %d", t.size, m.Datagram)
		}
		m.Values = t.datagrams(own...)
		return m, nil
	}
	m.Values = []record.Value{t.throughput()}
	if _, ok := tx.text["retrans"]; ok {
		m.Values = append(m.Values, record.Value{Name: record.Retransmits, Unit: "1", Value: tx.number("retrans")})
	}
	m.Values = append(append(m.Values, own...), t.window())
	return m, tx.err
}
