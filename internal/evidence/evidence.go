// Package evidence holds what a trial observed of its path, besides the result: the growth of counters in
// the order in which packets pass devices, what the engine's own threads read at the edges of the window,
// and the settings that held. Findings rest on it.
//
// It must not read a counter (packages sample and trial do), judge (package finding does) or do I/O.
package evidence

import (
	"fmt"

	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/sample"
)

// Format is the version of Trial and Settings in files. A reader refuses any other.
const Format = 1

// A Trial is the evidence of one trial. Data is what the probe measures: it flows from Sender to Receiver;
// a request goes from the client to the server.
type Trial struct {
	Format   int     `json:"format"`
	Protocol string  `json:"protocol"` // on the wire: tcp, udp or icmp
	Seconds  float64 `json:"seconds"`  // between the readings around the client, which Path, Nodes and Hosts cover
	Window   float64 `json:"window"`   // s of the measurement, which Sender and Receiver cover
	Sender   End     `json:"sender"`
	Receiver End     `json:"receiver"`
	// Path holds the devices that counters exist for, from the sender's to the receiver's.
	Path []Hop `json:"path"`
	// Nodes holds the growth of protocol counters by node (ip., udp., tcp., netstat.), Hosts that of
	// softnet and softirq counters, of CPU time (cpu0.idle, s) by host and CPU, and of the periods of CPU limits (quota.). Only counters that moved
	// are here.
	Nodes map[string]sample.Counters `json:"nodes"`
	Hosts map[string]sample.Counters `json:"hosts"`
	// Read lists the sources that were read, by node or host. A counter of a source that was read and is
	// missing above did not move; one of another source is unknown.
	Read map[string][]string `json:"read"`
	// Carriers names the programs through which the plan makes packets pass, by node, as threads are named.
	Carriers map[string][]string `json:"carriers,omitempty"`
	// Settings is the trial whose Settings held for this trial too, often itself; "" if unknown.
	Settings string `json:"settings,omitempty"`
	Event    *Event `json:"event,omitempty"` // nil: nothing happened
}

// An End is one end of the traffic. The zero values of CPU, Wait and TCP mean that the engine did not
// measure them, as for other tools.
type End struct {
	Node string `json:"node"`
	Host string `json:"host"`           // ID
	CPUs []int  `json:"cpus,omitempty"` // that the program could use; equal numbers on two hosts are different CPUs
	// CPU is the time that the engine's threads used, s, and Wait the time that they were runnable and
	// waited for a CPU, s (run_delay in /proc/PID/task/TID/schedstat).
	CPU  float64 `json:"cpu,omitempty"`
	Wait float64 `json:"wait,omitempty"`
	TCP  *TCP    `json:"tcp,omitempty"`
}

// TCP is the growth of struct tcp_info (include/uapi/linux/tcp.h) in the window, summed over connections.
type TCP struct {
	Busy          float64 `json:"busy"`                 // s with data in flight or waiting (tcpi_busy_time)
	RwndLimited   float64 `json:"rwndLimited"`          // s of Busy limited by the receiver's window
	SndbufLimited float64 `json:"sndbufLimited"`        // s of Busy limited by the send buffer
	SegmentsOut   float64 `json:"segmentsOut"`          // tcpi_segs_out
	Retransmitted float64 `json:"retransmitted"`        // segments (tcpi_total_retrans)
	Duplicates    float64 `json:"duplicates,omitempty"` // segments that the other end received twice (tcpi_dsack_dups)
	Reordered     float64 `json:"reordered,omitempty"`  // times that later segments were acknowledged before one that was never sent again (tcpi_reord_seen)
	Window        float64 `json:"cwnd,omitempty"`       // segments: tcpi_snd_cwnd at the end of the window
}

// A Hop is a device on the path.
type Hop struct {
	In  string `json:"in"` // node
	Dev string `json:"dev"`
	By  string `json:"by,omitempty"` // how packets get here from the hop before, as in plan.Hop
	// Out means that the data leave In through Dev, so Dev counts them as sent. Otherwise they enter.
	Out  bool `json:"out,omitempty"`
	Data Flow `json:"data"` // in the direction of the data
	Back Flow `json:"back"` // in the other direction: acknowledgements, answers
	// Queue is what the queueing disciplines of what Dev sends counted; nil if unknown or if there are none.
	Queue *Queue `json:"queue,omitempty"`
}

// A Flow is the growth of a device's counters in one direction.
type Flow struct {
	Packets float64 `json:"packets"`
	Bytes   float64 `json:"bytes"`
	Drops   float64 `json:"drops,omitempty"`
	Errors  float64 `json:"errors,omitempty"`
}

// Size returns the mean size of a packet, bytes with headers; 0 without packets. With segmentation offload
// one packet stands for many on the wire.
func (f Flow) Size() float64 {
	if f.Packets == 0 {
		return 0
	}
	return f.Bytes / f.Packets
}

// A Queue is the growth of the counters of a device's root queueing discipline (struct gnet_stats_basic and
// gnet_stats_queue, include/uapi/linux/gen_stats.h).
type Queue struct {
	Kind string `json:"kind"` // tbf, fq_codel, noqueue …
	// Packets counts what a packet becomes on the wire, up to 45 of TCP (bstats_update, include/net/sch_generic.h,
	// Linux 6.18). Drops and Overlimits count packets as the device does.
	Packets    float64 `json:"packets"`
	Bytes      float64 `json:"bytes"`
	Drops      float64 `json:"drops,omitempty"`
	Overlimits float64 `json:"overlimits,omitempty"` // times that it held packets back
	Requeues   float64 `json:"requeues,omitempty"`
}

// Settings is what held on the path during the trials of one condition.
type Settings struct {
	Format int             `json:"format"`
	Places map[string]Node `json:"places"` // by node
}

// A Node is the settings of one network namespace or machine.
type Node struct {
	Devices map[string]Device `json:"devices"` // those of the path
	// BridgeNF and Sysctl hold kernel settings by key, with dots.
	BridgeNF map[string]string `json:"bridgeNF,omitempty"`
	Sysctl   map[string]string `json:"sysctl,omitempty"`
	Rules    *int              `json:"rules,omitempty"` // of all packet-filter tables, nftables' and the older ones; nil if unknown
	// PacketRules are those of Rules that each packet can meet: chains of type nat see the first one of a connection, and
	// chains without a hook none.
	PacketRules *int           `json:"packetRules,omitempty"`
	Tracked     *int           `json:"tracked,omitempty"`  // entries of connection tracking; nil if it is not in use or unknown
	PathMTU     map[string]int `json:"pathMTU,omitempty"`  // learned, by the far address; those that differ from the device's MTU
	RouteMTU    map[string]int `json:"routeMTU,omitempty"` // stated on the route to the far address, likewise
	Unknown     []string       `json:"unknown,omitempty"`  // what could not be read, and why
	// Unlike holds the settings that something other than the plan changed, by NAME or DEVICE NAME: the value, and that
	// of a new network.
	Unlike map[string][2]string `json:"unlike,omitempty"`
}

// Device is the settings of one device.
type Device struct {
	Kind    string `json:"kind"` // veth, vxlan, bridge …; "" of a physical one
	MTU     int    `json:"mtu"`
	GSOMax  int    `json:"gsoMax,omitempty"`  // bytes
	GSOSegs int    `json:"gsoSegs,omitempty"` // segments that a packet may stand for
	GROMax  int    `json:"groMax,omitempty"`
	Qdisc   string `json:"qdisc,omitempty"`
	// Limit is the rate that the queueing discipline keeps, bit/s with headers, and Burst what it lets pass at once before,
	// bytes; 0 if unknown.
	Limit    float64         `json:"limit,omitempty"`
	Burst    float64         `json:"burst,omitempty"`
	Classes  []float64       `json:"classes,omitempty"`  // rates of a discipline's classes, bit/s and ascending, if they differ; Limit is the largest
	Features map[string]bool `json:"features,omitempty"` // offloads, by the kernel's names
	// Planned holds the features that the network's plan sets itself, such as checksums that a program cannot complete.
	Planned map[string]bool `json:"planned,omitempty"`
	RPS     []string        `json:"rps,omitempty"` // mask by receive queue; empty: none is set
	XPS     []string        `json:"xps,omitempty"`
}

// Parse reads a Trial from its file.
func Parse(b []byte) (*Trial, error) {
	var t Trial
	if err := bounds.JSON(b, &t); err != nil {
		return nil, err
	}
	return &t, checkFormat(t.Format)
}

// ParseSettings reads Settings from their file.
func ParseSettings(b []byte) (*Settings, error) {
	var s Settings
	if err := bounds.JSON(b, &s); err != nil {
		return nil, err
	}
	return &s, checkFormat(s.Format)
}

func checkFormat(n int) error {
	if n != Format {
		return fmt.Errorf("evidence has format %d, this version of weir reads %d", n, Format)
	}
	return nil
}
