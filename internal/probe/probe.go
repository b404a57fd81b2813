// Package probe holds the measuring tools. One file per tool, or per native probe,
// describes it, writes its command lines and reads its output.
//
// A probe is a struct whose exported fields are its options, and the keys of its
// YAML. It must not run anything, so it works in every place and is tested on
// recorded output.
package probe

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/record"
)

// A Probe knows one measuring tool and what it measures. If its options can be wrong, it
// has a method Check() error, which names the option and its bound.
type Probe interface {
	// Info describes the probe with the options that it has.
	Info() Info
	// Commands returns the argument vectors of server and client. The server binds
	// w.Server and runs until SIGTERM; an empty vector means that the probe needs
	// none. The program "weir" is this program, wherever the node keeps it.
	Commands(w Window) (server, client []string)
	// Parse reads what they printed. It returns values or an error, never both and
	// never neither; no value is NaN or infinite. The first value is the one that
	// the probe exists for.
	Parse(Output) (Measured, error)
}

// Info is how a probe describes itself. Its words are stored with the results, so
// that old reports keep them; how the tool is run is not.
type Info struct {
	Title  string `json:"title"`            // of a section: "TCP stream"
	Short  string `json:"short"`            // in a sentence: "TCP"
	About  string `json:"about"`            // a line for lists
	Method string `json:"method,omitempty"` // how the number comes about, in sentences for a report
	Unit   string `json:"unit"`             // of the first value
	// Measures groups the probes that should find the same when they use the same
	// sizes; empty when no other probe measures it.
	Measures string `json:"measures,omitempty"`
	// Differs says why the number can still differ within the group. System calls
	// are as strace(1) counted them, for the versions in testdata.
	Differs string `json:"differs,omitempty"`

	Tools []facts.ToolInfo `json:"-"` // the programs it needs besides weir, the client's last; none for a native probe
	// DeliveryUnit is the unit in which the server counts its work as it goes on: bit/s
	// of payload, packet/s, or 1/s of answered requests. It is empty for a probe without
	// a server of weir's own, which cannot be a background load.
	DeliveryUnit string `json:"-"`
	// NoWarmup marks a tool that cannot exclude a warm-up from its result. It gets
	// none, so the result includes the start of its connections.
	NoWarmup bool `json:"-"`
	// ServerReports marks a server that ends by itself after its client and prints
	// what it received only then, so it must not be stopped before.
	ServerReports bool `json:"-"`
	// StartsLate marks traffic that begins some time after the program, which does
	// not report when. No counters can be read around its window, so the CPU time is
	// unknown.
	StartsLate bool `json:"-"`
	// Takes is about how long a run lasts, and AtMost its limit, when the tool decides
	// that itself; 0 when it follows the window.
	Takes, AtMost time.Duration `json:"-"`
}

// What several tools measure.
const (
	tcpThroughput = "TCP throughput"
	udpThroughput = "UDP throughput"
	tcpResponse   = "TCP response time"
	udpResponse   = "UDP response time"
	connectTime   = "TCP connect and response time"
	echoTime      = "ICMP echo time"
	mpiTime       = "MPI message time"
	mpiBandwidth  = "MPI bandwidth"
)

// A Window says when and against whom to measure.
type Window struct {
	Server   netip.AddrPort
	MTU      int           // of the path, as its ends see it, bytes
	Warmup   time.Duration // traffic before the measurement, not counted
	Duration time.Duration // of the measurement

	// For tools whose client starts the other end itself.
	Client  netip.Addr
	Devices []string // that hold the two addresses, each once
	// Shell is the argv prefix with which a program at the client runs a command at
	// the server, as with rsh(1): HOST COMMAND… follow. Empty is ssh(1).
	Shell []string
	// Dir is for the tools' files, where both ends see it; "" leaves it to them.
	Dir string
}

// Output is what the two programs of a trial printed.
type Output struct {
	Client, Server       []byte // standard output
	ClientErr, ServerErr []byte // standard error
}

// Measured is what a probe reads from a tool's output.
type Measured struct {
	Values   []record.Value
	Observed map[string]string // what the tool reports of itself: version, congestion control
	// Protocol is tcp, udp or icmp: what the tool put on the wire.
	Protocol string
	// Datagram is the payload of every UDP or ICMP packet, bytes; 0 for TCP,
	// which cuts its stream to fit.
	Datagram int
	// Moved and Messages are the least bytes and packets that the devices of the
	// path must have moved in one direction, for tools whose values do not show it:
	// the bytes they count may never have left the machine's memory.
	Moved, Messages float64
	// Pause is the longest time, s, that the sender's own schedule leaves between
	// two sends; 0 is none.
	Pause float64
}

// Delivered returns what p measured in its DeliveryUnit; 0 when it has none.
func Delivered(p Probe, m Measured) float64 {
	unit := p.Info().DeliveryUnit
	for _, v := range m.Values {
		if v.Unit == unit && unit != "" {
			return v.Value
		}
	}
	return 0
}

// A Pacer can be held to a rate, and so be a background load at a share of what the
// path carries. Requests cannot be paced: a closed loop sends what was answered.
type Pacer interface {
	Pace(rate float64) (Probe, error)
	Capacity() (by Probe, kind string, err error)
}

// Pace returns p at a rate in its DeliveryUnit; 0 is flat out. Nobody reads the jitter of a
// background load, so its receiver polls as it does flat out.
func Pace(p Probe, rate float64) (Probe, error) {
	if pacer, ok := p.(Pacer); ok {
		return pacer.Pace(rate)
	}
	return nil, fmt.Errorf("%s cannot be held to a rate", p.Info().Title)
}

// Capacity returns the probe that finds how much a path carries of p, and what to call
// that. For datagrams it is the highest rate at which hardly any is lost: at higher rates
// more can arrive, or less. TCP finds its rate by itself, so its capacity is what arrives
// flat out.
func Capacity(p Probe) (by Probe, kind string, err error) {
	if pacer, ok := p.(Pacer); ok {
		return pacer.Capacity()
	}
	_, err = Pace(p, 0)
	return nil, "", err
}
