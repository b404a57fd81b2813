// Package probe holds one file per measuring tool.
//
// A probe is a struct whose exported fields are its parameters, and the keys of
// its YAML. It writes command lines and reads output; it never runs anything, so
// it works in every place and is tested on recorded output.
package probe

import (
	"net/netip"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
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
	// Shell runs a command at the server for a program at the client, as rsh(1)
	// does: it is followed by HOST COMMAND…. Empty is ssh(1).
	Shell []string
	// Dir is for files of theirs, where both ends see it; "" is their own choice.
	Dir string
}

// Output is what the two programs of a trial printed.
type Output struct {
	Client, Server       []byte // standard output
	ClientErr, ServerErr []byte // standard error
}

// A Probe knows one measuring tool and what it measures.
type Probe interface {
	// Commands returns the argument vectors of server and client. The server
	// binds w.Server and runs until it is told to stop by SIGTERM; an empty
	// server vector means that none is needed. The program "weir" is this
	// program, wherever the node keeps it.
	Commands(w Window) (server, client []string)
	// Parse reads what they printed. It returns values or an error, never both
	// and never neither; no value is NaN or infinite. The first value is what
	// the probe is for.
	Parse(Output) (Measured, error)
}

// Measured is what a probe reads from a tool's output.
type Measured struct {
	Values []record.Value
	Found  map[string]string // what the tool said of itself: its version, its congestion control
	// Protocol is tcp, udp or icmp: what the tool put on the wire.
	Protocol string
	// Datagram is the payload of every UDP or ICMP packet, bytes; 0 for TCP,
	// which cuts its stream to fit.
	Datagram int
	// Moved and Messages are the least bytes and packets that the devices of the
	// path must have moved in one direction, for tools whose values do not tell:
	// what they count may never have left the machine's memory.
	Moved, Messages float64
	// Pause is the longest time, s, that the sender's own schedule leaves between
	// two sends; 0 is none.
	Pause float64
}

// What the program "weir" prints on its standard output, as a line of its own: a
// server when it listens (the line begins so), a client when its measured window
// begins and ends, so that counters are read at these moments. For other tools the
// socket tables and the clock tell.
const (
	MarkReady = event.MarkReady
	MarkBegin = event.MarkBegin
	MarkEnd   = event.MarkEnd
)

// Programs returns the programs that p runs and that are not this one: what has
// to be installed. A probe whose command lines do not begin with them says so
// with a method Programs.
func Programs(p Probe) []string {
	if told, ok := p.(interface{ Programs() []string }); ok {
		return told.Programs()
	}
	var names []string
	server, client := p.Commands(Window{Duration: time.Second})
	for _, argv := range [][]string{server, client} {
		if len(argv) > 0 && argv[0] != "weir" {
			names = append(names, argv[0])
		}
	}
	return names
}
