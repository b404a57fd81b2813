// Package packettrace proves which path packets take, with the time of every hop. It records when each
// packet of a request/response run passes each device (Tracer through BPF, Tap through packet sockets),
// finds the requests in these events (New), and prints or draws the result (Trace.Text, Trace.Picture).
//
// It must not send traffic, know networks or targets, or judge a result. Everything that it opens ends
// with its process: nothing is pinned, and no setting changes.
package packettrace

import "slices"

// A Kind is a place in the kernel where an Event is taken.
type Kind string

const (
	Queue   Kind = "queue"   // tracepoint net_dev_queue: handed to a device, before its queueing discipline
	Xmit    Kind = "xmit"    // net_dev_start_xmit: handed to the device's driver
	Enter   Kind = "enter"   // netif_rx: the device received it, and its softirq is raised
	GRO     Kind = "gro"     // napi_gro_receive_entry: the device's NAPI poll received it
	Receive Kind = "receive" // netif_receive_skb: its softirq begins with it
	Drop    Kind = "drop"    // kfree_skb: the kernel gave it up

	warm Kind = "warm" // net_dev_queue, just before a Queue; see warmed
)

// HeadSize is how many bytes of a packet an Event keeps, from where the packet began at that moment:
// enough for two layers of Ethernet, IPv6 and UDP, a tunnel's header, and the engine's.
const HeadSize = 160

// An Event is a packet at a place.
type Event struct {
	At     int64  `json:"at"`             // ns; the origin is arbitrary and the same for all events of a Clock
	Warm   int64  `json:"warm,omitempty"` // ns before At that another recording took
	Clock  string `json:"-"`              // whose time At is: a machine's. "": one is common to all events
	Kind   Kind   `json:"kind"`
	Node   string `json:"node"` // the network namespace's
	Dev    string `json:"dev"`
	Packet uint64 `json:"packet,omitempty"` // the kernel's buffer; user space begins another one. 0: unknown
	Socket uint64 `json:"socket,omitempty"` // that owns it; 0: none, or unknown
	Len    int    `json:"len"`              // bytes
	Reason string `json:"reason,omitempty"` // of a Drop
	Head   []byte `json:"head"`
}

// Modes of recording, best first.
const (
	ByBPF      = "bpf"      // raw tracepoints: every place of every packet, and reasons of drops
	ByTaps     = "taps"     // packet sockets: the devices that a packet leaves and enters
	ByCounters = "counters" // which devices moved as many packets as there were requests
)

// Modes lists them.
var Modes = []string{ByBPF, ByTaps, ByCounters}

// Missing says what a mode cannot show, compared with ByBPF.
var Missing = map[string]string{
	ByTaps:     "packet sockets show devices of the lab's nodes only, not queueing disciplines, softirqs, namespaces that a daemon made, or reasons of drops",
	ByCounters: "counters show which devices moved the packets, not their order or their time",
}

// missingApart is Missing on two machines.
var missingApart = map[string]string{
	ByTaps:     "packet sockets show the devices of the two machines, not queueing disciplines, softirqs or reasons of drops, nor packets that a tunnel has encrypted",
	ByCounters: "counters show how many packets the devices moved, others' included, not their order or their time",
}

// Format is the version of Trace in files.
const Format = 1

// A Trace is the path of one network's packets. Times are in seconds.
type Trace struct {
	Format  int    `json:"format"`
	Network string `json:"network"`
	Client  string `json:"client"` // nodes
	Server  string `json:"server"`
	Size    int    `json:"size"` // bytes of a request and of its reply
	Mode    string `json:"mode"`
	Why     string `json:"why,omitempty"` // why no better mode is available
	// Requests were traced; Usual of them, and their replies, took the paths below. The rest took others.
	Requests int `json:"requests"`
	Usual    int `json:"usual"`
	// TwoMachines says that client and server are machines with clocks of their own. No time is taken across two clocks:
	// Between, the median time between the machines there and back, is what passed between the client's devices by its
	// clock, less what passed between the server's by that one. Path contains it.
	TwoMachines bool    `json:"apart,omitempty"`
	Between     float64 `json:"between,omitempty"`
	Lost        int     `json:"lost,omitempty"` // events that did not fit the buffer
	// Event is what recording one event costs; the mean of two machines. It is subtracted from every time below, except Traced.
	Event   float64 `json:"event"`
	Events  int     `json:"events"` // whose cost is in Traced
	Request Way     `json:"request"`
	Reply   Way     `json:"reply"`
	// Path is the median time from the first device to the last, there and back, of requests without stamps, and Traced the same with
	// the events' cost. Stamps is what the sockets' own stamps say without a trace: the median of rtt.path.
	Path   float64 `json:"path"`
	Traced float64 `json:"traced"`
	Stamps float64 `json:"stamps,omitempty"`
	// Before is how much of Stamps passes outside of Path, between a stamp and the first event: mostly what
	// making the stamp takes. Measured in requests that had both. Again is how much longer than the others' their path
	// is: the kernel stamps a packet anew at each further device of the sender (__dev_queue_xmit, net/core/dev.c).
	Before  float64  `json:"before,omitempty"`
	Again   float64  `json:"again,omitempty"`
	Drops   []Gone   `json:"drops,omitempty"`
	Devices []Device `json:"devices,omitempty"` // ByCounters only
}

// A Way is the path in one direction.
type Way struct {
	Hops []Hop `json:"hops"`
	// Path is the median time from the first event to the hop marked Last, without the events' cost and without the
	// time between machines.
	Path float64 `json:"path"`
	// Program is the median time from the last hop to the next packet: the wake-up and the program.
	Program float64 `json:"program,omitempty"`
}

// A Hop is an event and the way to it from the one before.
type Hop struct {
	Node  string  `json:"node"`
	Dev   string  `json:"dev"`
	Kind  Kind    `json:"kind"`
	Does  Does    `json:"does,omitempty"`  // what happened on the way; "" for the first hop
	Time  float64 `json:"time"`            // median, without the event's cost
	At    float64 `json:"at"`              // the sum of the times so far
	Last  bool    `json:"last,omitempty"`  // where the kernel stamps the arrival: the path ends here
	Other bool    `json:"other,omitempty"` // another packet begins here: a program sends it
}

// Does names what the kernel or a program does between two events.
type Does string

const (
	DoesQueue   Does = "to the driver"
	DoesCross   Does = "device to device"
	DoesSoftirq Does = "softirq"
	DoesGRO     Does = "GRO"
	DoesEncap   Does = "encapsulation"
	DoesDecap   Does = "decapsulation"
	DoesRoute   Does = "route"
	DoesBridge  Does = "bridge"
	DoesUser    Does = "user space"
	DoesKernel  Does = "kernel"
	DoesWire    Does = "another machine" // with a clock of its own, so that the hop has no time
)

// Gone counts the dropped packets of requests that got no reply.
type Gone struct {
	Node    string `json:"node"`
	Dev     string `json:"dev"`
	Reason  string `json:"reason"`
	Packets int    `json:"packets"`
}

// A Device is how many packets a device moved for each request and its reply.
type Device struct {
	Node string  `json:"node"`
	Dev  string  `json:"dev"`
	Rx   float64 `json:"rx"`
	Tx   float64 `json:"tx"`
}

// A Stay is the time of the consecutive hops at one device, s.
type Stay struct {
	Node, Dev string
	Time      float64
}

// Stays returns the devices of the path in order.
func (w Way) Stays() (all []Stay) {
	for _, h := range w.Counted() {
		n := len(all) - 1
		if n < 0 || all[n].Node != h.Node || all[n].Dev != h.Dev {
			all = append(all, Stay{Node: h.Node, Dev: h.Dev})
			n++
		}
		if h.Does != DoesWire {
			all[n].Time += h.Time
		}
	}
	return all
}

// Counted returns the hops that the path consists of: those up to the last.
func (w Way) Counted() []Hop {
	i := slices.IndexFunc(w.Hops, func(h Hop) bool { return h.Last })
	return w.Hops[:i+1]
}
