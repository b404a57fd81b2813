package probe

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// dataPort returns the data port of a tool whose control connection uses w.Server's port: by default
// ten ports above, because other servers can use the next ports.
func dataPort(w Window) string { return strconv.Itoa(int(or(w.DataPort, w.Server.Port()+10))) }

// port is where the server listens.
func port(w Window) string { return strconv.Itoa(int(w.Server.Port())) }

// callPort is the port that clients call.
func callPort(w Window) string { return strconv.Itoa(int(w.call().Port())) }

// wholeSeconds rounds up for tools that accept only whole seconds. The minimum is 1, because
// several tools run forever on 0.
func wholeSeconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(max(d, 1).Seconds()))) }

// kernelCC is the reported congestion control of a tool that cannot choose one.
const kernelCC = "the kernel's default: the tool has no option"

// kernelCCUnset is the reported congestion control of a tool that was not asked to choose one and does not report it.
const kernelCCUnset = "the kernel's default"

func protocol(udp bool) string {
	if udp {
		return "udp"
	}
	return "tcp"
}

// carrier starts a measurement with the datagram size (bytes) for UDP or the congestion control for
// TCP.
func carrier(udp bool, size int, cc string) Measured {
	m := Measured{Protocol: protocol(udp), Observed: record.Observed{}}
	if udp {
		m.Datagram = size
	} else {
		record.Congestion.Put(m.Observed, cc)
	}
	return m
}

func bulkSize(udp bool, option int) int {
	if udp {
		return or(option, defaultDatagram)
	}
	return or(option, foreignWrite)
}

func streamBy(tool string, udp bool, differs [2]string) Info {
	name, i := strings.ToUpper(protocol(udp)), Info{Unit: "bit/s", Measures: tcpThroughput, Differs: differs[0], Datagrams: udp}
	if udp {
		i.Measures, i.Differs = udpThroughput, differs[1]
	}
	i.Title, i.Short, i.About = name+" stream ("+tool+")", name+" by "+tool, name+" throughput at the receiver, by "+tool
	return i
}

func responseBy(tool string, udp bool, differs string) Info {
	name, i := strings.ToUpper(protocol(udp)), Info{Unit: "s", Measures: tcpResponse, Differs: differs, Datagrams: udp}
	if udp {
		i.Measures = udpResponse
	}
	i.Title, i.Short, i.About = name+" request/response ("+tool+")", name+" response time by "+tool, name+" response time, by "+tool
	return i
}

const (
	kernelBulk      = "uses the kernel's default congestion control because it has no option for it; one process per end, which blocks in write and read; includes the slow start"
	kernelDatagrams = "one write and one read per datagram, a socket buffer of the kernel's default size; no warm-up"
)

// perStream divides rate among the streams, in bit/s. A rate of 0 stays 0.
func perStream(rate Bitrate, streams int) string {
	if rate == 0 {
		return "0"
	}
	return strconv.FormatUint(max(1, uint64(rate)/uint64(or(streams, 1))), 10)
}

// checkRate returns an error if perStream would change a rate by more than its rounding, a thousandth.
func checkRate(tool string, rate Bitrate, streams int) error {
	if each := float64(rate) / float64(or(streams, 1)); rate > 0 && each < 1000 {
		return fmt.Errorf("%s: rate %v is below 1000 bit/s per stream: it takes whole bits only", tool, float64(rate))
	}
	return nil
}

// tcpOnly returns an error if a congestion control is asked of UDP, which has none.
func tcpOnly(tool string, udp bool, cc string) error {
	if udp && cc != "" {
		return fmt.Errorf("%s: cc: UDP has no congestion control; leave it out", tool)
	}
	return checkCC(cc)
}

// maxStreams is a number of streams that every tool supports.
const maxStreams = 128

// checkStream returns an error that names the option and its bound. least is the tool's smallest
// datagram in bytes.
func checkStream(tool string, udp bool, size, least, streams int) error {
	most := event.MaxMessage
	if udp {
		most = event.MaxDatagram
	} else {
		least = 1
	}
	return cmp.Or(event.Within(tool+": size", size, least, most, "bytes"), event.Within(tool+": streams", streams, 1, maxStreams, ""))
}

// checked returns m, or an error that names the tool if err is set or a value is impossible.
func checked(tool string, m Measured, err error) (Measured, error) {
	if err != nil {
		return Measured{}, fmt.Errorf("%s: %w", tool, err)
	}
	if err := possible(m.Values); err != nil {
		return Measured{}, fmt.Errorf("%s: %w", tool, err)
	}
	return m, nil
}

// possible returns an error if a value is negative or not finite.
func possible(values []record.Value) error {
	for _, v := range values {
		if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || v.Value < 0 {
			return fmt.Errorf("%s is %v %s", v.Name, v.Value, v.Unit)
		}
	}
	return nil
}

// A transfer holds a tool's counts for a stream of bytes or datagrams.
type transfer struct {
	sent, received float64 // bytes
	seconds        float64 // over which received was counted
	size           float64 // of a datagram, bytes
	slack          float64 // bytes that count at the receiver only
	offered        float64 // bit/s requested; 0 is unlimited
}

func (t transfer) check() error {
	switch {
	case !(t.seconds > 0):
		return fmt.Errorf("impossible: received for %v s", t.seconds)
	case !(t.received > 0):
		return fmt.Errorf("nothing was received")
	case t.received > t.sent+t.slack:
		return fmt.Errorf("%.0f bytes were received and only %.0f sent", t.received, t.sent)
	}
	return nil
}

func (t transfer) throughput() record.Value {
	return record.Value{Name: record.Throughput, Unit: "bit/s", Value: t.received * 8 / t.seconds}
}

func (t transfer) window() record.Value {
	return record.Value{Name: record.Window, Unit: "s", Value: t.seconds}
}

// datagrams returns the values of a UDP stream, throughput first and window last.
func (t transfer) datagrams(more ...record.Value) []record.Value {
	delivered := t.received / t.size / t.seconds
	vs := []record.Value{t.throughput(), {Name: record.PacketRate, Unit: "packet/s", Value: delivered}}
	if t.offered > 0 {
		vs = append(vs, record.Value{Name: record.Offered, Unit: "packet/s", Value: t.offered / 8 / t.size})
	}
	vs = append(vs,
		record.Value{Name: record.Sent, Unit: "packet/s", Value: t.sent / t.size / t.seconds},
		record.Value{Name: record.Delivered, Unit: "packet/s", Value: delivered},
		record.Value{Name: record.Loss, Unit: "1", Value: max(0, 1-t.received/t.sent)})
	return append(append(vs, more...), t.window())
}

// stoodStill returns an error if n transactions over UDP of mean seconds each leave more than a tenth of
// the window empty, because the tool waits forever for a lost reply.
func stoodStill(n, mean, seconds float64) error {
	if busy := n * mean / seconds; busy < 0.9 {
		return fmt.Errorf("stood still for %.0f %% of the window: a datagram was lost, and the tool does not ask again; measure with udp-rr, which does", 100*(1-busy))
	}
	return nil
}

// digits parses a number that a regular expression has already matched.
func digits(b []byte) float64 {
	v, _ := strconv.ParseFloat(string(b), 64)
	return v
}

// A rounded number is a number as a tool printed it. The exact number is at most rounding away, half a
// unit of the last digit, so printed numbers that follow from each other agree only within their
// roundings.
type rounded struct{ value, rounding float64 }

func (r rounded) times(unit float64) rounded { return rounded{r.value * unit, r.rounding * unit} }

// parseRounded parses a number that a regular expression has already matched.
func parseRounded(b []byte) (rounded, error) {
	value, err := strconv.ParseFloat(string(b), 64)
	mantissa, exponent, _ := strings.Cut(string(b), "e")
	_, decimals, _ := strings.Cut(mantissa, ".")
	return rounded{value, 0.5 * math.Pow(10, digits([]byte(exponent))-float64(len(decimals)))}, err
}

func numbers(groups [][]byte) ([]rounded, error) {
	f := make([]rounded, len(groups))
	for i, g := range groups {
		var err error
		if f[i], err = parseRounded(g); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// fields holds a tool's output as numbers by name. err reports the first missing or malformed
// number.
type fields struct {
	text map[string]string
	err  error
}

func (p *fields) number(name string) float64 {
	s, ok := p.text[name]
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case p.err != nil:
	case !ok:
		p.err = fmt.Errorf("output has no %s", name)
	case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
		p.err = fmt.Errorf("%s is %.40q, not a number", name, s)
	default:
		return v
	}
	return 0
}
