// Package probe describes the measuring tools: one file per foreign tool or native probe writes its
// command lines and parses its output.
//
// A probe is a struct whose exported fields are its options and YAML keys. It must not run
// anything, so it works with every target and can be tested on recorded output.
package probe

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/record"
)

// A Probe is a measuring tool with its options. If options can be invalid, it also has a method
// Check() error that names the option and its bound.
type Probe interface {
	Info() Info
	// Commands returns the argument vectors. The server binds w.Server, the client calls w.Call, and
	// the server runs until SIGTERM; it is empty if the probe needs none. The program name "weir" stands for this binary, wherever
	// the node keeps it.
	Commands(w Window) (server, client []string)
	// Parse returns either values or an error. Values are finite; the first is the probe's main
	// value.
	Parse(Output) (Measured, error)
}

// Info describes a probe with its options. weir stores the fields with JSON keys with the results,
// so old reports keep their wording.
type Info struct {
	Title  string `json:"title"`            // section title: "TCP stream"
	Short  string `json:"short"`            // name in sentences: "TCP"
	About  string `json:"about"`            // one line for lists
	Method string `json:"method,omitempty"` // how the number is measured, in full sentences
	Unit   string `json:"unit"`             // of the first value
	// Measures groups probes that should agree at equal sizes; empty for a probe without peers.
	Measures string `json:"measures,omitempty"`
	// Differs says why numbers can still differ within the group. System calls are as strace(1)
	// counted them, for the versions in testdata.
	Differs string `json:"differs,omitempty"`
	// Asks is what a request asks of the path, from which the path's own price predicts the application's; the zero value is no
	// application's.
	Asks Asks `json:"asks,omitzero"`

	Tools []facts.ToolInfo `json:"-"` // programs it needs besides weir, the client's last
	// DeliveryUnit is the unit of the server's running count: bit/s of payload, packet/s, or 1/s of
	// answered requests. It is empty without a weir server; such a probe cannot be a background
	// load.
	DeliveryUnit string `json:"-"`
	// NoWarmup marks a tool that cannot exclude a warm-up. It gets none, so its result includes
	// connection start-up.
	NoWarmup bool `json:"-"`
	// ServerReports marks a server that prints its counts when it exits after its client, so weir
	// must not stop it earlier.
	ServerReports bool `json:"-"`
	// StartsLate marks a tool whose traffic starts at an unknown time after its process. The CPU
	// time is unknown, because no counters can be read around the window.
	StartsLate bool `json:"-"`
	// Datagrams marks a probe that sends UDP or ICMP, which proxies of TCP do not carry.
	Datagrams bool `json:"-"`
	// SecondPort marks a tool whose data go to a second port of the server: Window.DataPort.
	SecondPort bool `json:"-"`
	// Direct says why a tool needs the server's own address, after the tool's name; empty if it can
	// call a server through address translation.
	Direct string `json:"-"`
	// Takes is the approximate duration and AtMost the limit of a tool that ignores the window;
	// else 0.
	Takes, AtMost time.Duration `json:"-"`
}

// Asks describes a closed loop of requests.
type Asks struct {
	RoundTrips int `json:"roundTrips"` // per request, one after the other
	InFlight   int `json:"inFlight"`   // requests at a time
	Bytes      int `json:"bytes"`      // of the longer message
}

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

// A Window is the time and addresses of a measurement.
type Window struct {
	Server netip.AddrPort // where the server listens
	// Call is where clients call it: another address or port behind a Kubernetes Service. The zero
	// Call is Server.
	Call netip.AddrPort
	// DataPort is a second port of the server; 0 is ten above the first.
	DataPort uint16
	// Found means machines that are not weir's own. Settings that a study does not ask for stay as
	// they have them, because they can refuse others.
	Found    bool
	MTU      int           // of the path, as its ends see it, bytes
	Warmup   time.Duration // traffic before the measurement, not counted
	Duration time.Duration // of the measurement

	// For tools whose client starts the other end.
	Client  netip.Addr
	Devices []string // devices with the two addresses, without duplicates
	// Shell is an rsh(1)-like argv prefix with which the client runs a command at the server: HOST
	// COMMAND… follow. Empty means ssh(1).
	Shell []string
	// Dir holds the tools' files and is visible to both ends; "" leaves the choice to them.
	Dir string
}

type Output struct {
	Client, Server       []byte // standard output
	ClientErr, ServerErr []byte // standard error
	Found                bool   // see Window
}

// call is where clients call the server.
func (w Window) call() netip.AddrPort {
	if w.Call.IsValid() {
		return w.Call
	}
	return w.Server
}

// chooseCC returns the option that sets a TCP congestion control, or none where the machines'
// own is to stay. asked is the study's, "" for none.
func (w Window) chooseCC(option, asked string) []string {
	if asked == "" && w.Found {
		return nil
	}
	return []string{option, or(asked, defaultCC)}
}

// cc is the congestion control that the output must confirm; "" for any. asked is the study's.
func (o Output) cc(asked string) string {
	if asked == "" && o.Found {
		return ""
	}
	return or(asked, defaultCC)
}

// Measured is the result of parsing a tool's output.
type Measured struct {
	Values   []record.Value
	Observed record.Observed // settings that the tool reports: version, congestion control
	// Protocol is the transport on the wire: tcp, udp or icmp.
	Protocol string
	// Datagram is the payload of every UDP or ICMP packet in bytes, of QUIC that of the largest; 0 for TCP.
	Datagram int
	// Reversed means that the server sends the data and the client receives them.
	Reversed bool
	// Moved and Messages are the minimum bytes and packets that the path's devices must have moved
	// in one direction. Tools set them if the bytes they count could have stayed in memory.
	Moved, Messages float64
	// Shared means that a packet can hold several of the probe's messages.
	Shared bool
	// Pause is the longest scheduled gap between two sends, in s; 0 for none.
	Pause float64
	// Outages are the times when nothing arrived, for the probes that look for them; nil for others. Times of the round
	// trip and of the way back are ns of CLOCK_MONOTONIC of the client's machine.
	Outages *event.Outages
	// Client and Server are what the native probes' own threads read at the edges of the window: only
	// CPU, Wait and TCP are set. They are zero for other tools.
	Client, Server evidence.End
	// Window is the time between these edges, s; 0 for other tools. A search can take more or less than
	// the study's duration.
	Window float64
}

func Delivered(p Probe, m Measured) float64 {
	unit := p.Info().DeliveryUnit
	for _, v := range m.Values {
		if v.Unit == unit && unit != "" {
			return v.Value
		}
	}
	return 0
}

// A Pacer can run at a set rate, and so be a background load at a share of the path's capacity.
// Closed request loops cannot be paced.
type Pacer interface {
	Pace(rate float64) (Probe, error)
	Capacity() (by Probe, kind string, err error)
}

// Pace returns p at a rate in its DeliveryUnit; 0 is flat out. A paced receiver polls, because the
// jitter of a background load is not reported.
func Pace(p Probe, rate float64) (Probe, error) {
	if pacer, ok := p.(Pacer); ok {
		return pacer.Pace(rate)
	}
	return nil, fmt.Errorf("%s cannot be held to a rate", p.Info().Title)
}

// Capacity returns the probe that measures a path's capacity for p, and the name of that capacity.
// For datagrams it is the highest rate with hardly any loss, because faster streams can deliver
// more or less. TCP finds its own rate, so its capacity is its flat-out throughput.
func Capacity(p Probe) (by Probe, kind string, err error) {
	if pacer, ok := p.(Pacer); ok {
		return pacer.Capacity()
	}
	_, err = Pace(p, 0)
	return nil, "", err
}
