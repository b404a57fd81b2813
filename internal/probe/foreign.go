package probe

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// Habits are what a foreign tool does that decides how it is run.
type Habits struct {
	// NoWarmup: the tool cannot leave a warm-up out of its result. It gets none,
	// so the result holds the beginning of its connections.
	NoWarmup bool
	// ServerReports: the server ends by itself after its client, and prints what it
	// received then. It is waited for before it is told to stop.
	ServerReports bool
	// StartsLate: traffic begins some time after the start, and nothing tells when.
	// So counters cannot be read around its window, and CPU time is not known.
	StartsLate bool
	// Lasts is how long a run may take of a tool that cannot be told how long to
	// measure, and of a search; 0 for all others.
	Lasts time.Duration
}

// HabitsOf returns the habits of p's tool. The native engine has none, but that a
// search takes its time.
func HabitsOf(p Probe) Habits {
	if h, ok := p.(interface{ Habits() Habits }); ok {
		return h.Habits()
	}
	return Habits{}
}

// dataPort is where a tool with a control connection on w.Server's port is to
// send its data. It is ten further, for the next ports may have other servers.
func dataPort(w Window) string { return strconv.Itoa(int(w.Server.Port() + 10)) }

func port(w Window) string { return strconv.Itoa(int(w.Server.Port())) }

// wholeSeconds is a duration as tools read it that know whole seconds only. No
// less than one: several of them take 0 for no end.
func wholeSeconds(d time.Duration) string {
	return strconv.Itoa(int(math.Ceil(max(d, 1).Seconds())))
}

// kernelCC is the congestion control of a tool that cannot choose one.
const kernelCC = "the kernel's default: the tool has no option"

// maxStreams is what all the tools can do at once.
const maxStreams = 128

// checkStream returns an error that names the option and its bound. least is the
// smallest datagram of the tool, bytes.
func checkStream(tool string, udp bool, size, least, streams int) error {
	most := event.MaxMessage
	if udp {
		most = event.MaxDatagram
	} else {
		least = 1
	}
	switch {
	case size < least || size > most:
		return fmt.Errorf("%s: size %d is outside %d..%d bytes", tool, size, least, most)
	case streams < 1 || streams > maxStreams:
		return fmt.Errorf("%s: streams %d is outside 1..%d", tool, streams, maxStreams)
	}
	return nil
}

// checked returns m, or an error when a value is none that can be measured.
func checked(tool string, m Measured) (Measured, error) {
	for _, v := range m.Values {
		if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || v.Value < 0 {
			return Measured{}, fmt.Errorf("%s: %s is %v %s", tool, v.Name, v.Value, v.Unit)
		}
	}
	return m, nil
}

// A transfer is what a tool says of a stream of bytes or datagrams.
type transfer struct {
	sent, received float64 // bytes
	seconds        float64 // in which received came
	size           float64 // of a datagram, bytes
	slack          float64 // bytes that count at the receiver only
	offered        float64 // bit/s asked for; 0 is as fast as possible
}

// check refuses what cannot be.
func (t transfer) check() error {
	switch {
	case !(t.seconds > 0):
		return fmt.Errorf("it received for %v s", t.seconds)
	case !(t.received > 0):
		return fmt.Errorf("nothing was received")
	case t.received > t.sent+t.slack:
		return fmt.Errorf("%.0f bytes were received and only %.0f sent", t.received, t.sent)
	}
	return nil
}

func (t transfer) throughput() record.Value {
	return record.Value{Name: "throughput", Unit: "bit/s", Value: t.received * 8 / t.seconds}
}

func (t transfer) window() record.Value {
	return record.Value{Name: "window", Unit: "s", Value: t.seconds}
}

// datagrams are the values of a UDP stream, throughput first; window is last.
func (t transfer) datagrams(more ...record.Value) []record.Value {
	delivered := t.received / t.size / t.seconds
	vs := []record.Value{t.throughput(), {Name: "packet.rate", Unit: "packet/s", Value: delivered}}
	if t.offered > 0 {
		vs = append(vs, record.Value{Name: "offered", Unit: "packet/s", Value: t.offered / 8 / t.size})
	}
	vs = append(vs,
		record.Value{Name: "sent", Unit: "packet/s", Value: t.sent / t.size / t.seconds},
		record.Value{Name: "delivered", Unit: "packet/s", Value: delivered},
		record.Value{Name: "loss", Unit: "1", Value: max(0, 1-t.received/t.sent)})
	return append(append(vs, more...), t.window())
}

// tails returns rtt.p99 and rtt.p999 of n response times, each when enough of them
// lie above it (see beyond).
func tails(n float64, p99, p999 float64) []record.Value {
	var vs []record.Value
	if n*0.01 >= beyond {
		vs = append(vs, record.Value{Name: "rtt.p99", Unit: "s", Value: p99})
	}
	if n*0.001 >= beyond && p999 > 0 {
		vs = append(vs, record.Value{Name: "rtt.p999", Unit: "s", Value: p999})
	}
	return vs
}

// fields are the numbers of a tool's output by their names. err is the first
// name that was missing, or whose text is no number.
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
		p.err = fmt.Errorf("%s is %.40q, no number", name, s)
	default:
		return v
	}
	return 0
}
