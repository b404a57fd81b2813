package analysis

import (
	"slices"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// Send modes: how bytes get from one program to another, in the order of a gap's steps.
// Observations of the trials identify a probe's mode, not its name.
const (
	Single = "single"  // UDP, one send per datagram
	Mmsg   = "mmsg"    // many datagrams per system call
	GSO    = "gso"     // many datagrams in one packet (UDP_SEGMENT), split at the socket at the latest
	GSOGRO = "gso-gro" // also together at the socket (UDP_GRO), until the program reads them
	TCP    = "tcp"     // one stream, with segmentation offload

	// Outside that order, for checks.
	oneRead = "recv-single" // Single, one read per datagram
	groOnly = "gro"         // Single, received with UDP_GRO
	off     = "/off"        // suffix of a mode without offload
)

var modeOrder = []string{Single, Mmsg, GSO, GSOGRO, TCP}

// A Check is a ratio outside the steps, whose size tests the explanation of the steps.
type Check struct {
	Name  string        `json:"name"`
	Ratio stat.Interval `json:"ratio"`

	of, to string // modes
}

const (
	CheckProtocol = "protocol" // TCP ÷ UDP where no packets pass together
	CheckOffload  = "offload"  // TCP without ÷ with segmentation offload
	CheckReads    = "reads"    // UDP, many datagrams per read ÷ one
	CheckGRO      = "gro"      // UDP, joined by the receiver's stack alone ÷ not
)

var checks = []Check{
	{Name: CheckProtocol, of: TCP + off, to: Single + off},
	{Name: CheckOffload, of: TCP + off, to: TCP},
	{Name: CheckReads, of: Single, to: oneRead},
	{Name: CheckGRO, of: groOnly, to: Single},
}

// offload is the factor that switches segmentation offload; without it, offload is on.
const offload = "offload"

// A modeGroup holds comparable rows: one datagram size, and equal factors except offload.
type modeGroup struct {
	levels map[string]string         // of the factors that vary
	rows   map[string]map[string]Row // by network and mode; the first of a mode counts
}

func (r *Run) modeGroups() []modeGroup {
	byConfig := map[string][]Table{} // tables that differ only in probe and offload
	for _, t := range r.Tables {
		k := key(t.Config, offload)
		byConfig[k] = append(byConfig[k], t)
	}
	type same struct{ config, datagram string }
	done := map[same]bool{}
	var out []modeGroup
	for _, t := range r.Tables {
		k := same{key(t.Config, offload), t.datagram()}
		if k.datagram == "" || done[k] {
			continue
		}
		done[k] = true
		g := modeGroup{without(t.Levels, offload), map[string]map[string]Row{}}
		for _, other := range byConfig[k.config] {
			if d := other.datagram(); d == "" || d == k.datagram {
				g.add(other)
			}
		}
		out = append(out, g)
	}
	return out
}

func (g modeGroup) add(t Table) {
	for _, r := range t.Rows {
		mode := modeOf(r)
		if mode == "" || t.Metric != record.Throughput {
			continue
		}
		if t.Config[offload] == "off" {
			mode += off
		}
		if g.rows[r.Network] == nil {
			g.rows[r.Network] = map[string]Row{}
		}
		if _, twice := g.rows[r.Network][mode]; !twice {
			g.rows[r.Network][mode] = r
		}
	}
}

// udpModes maps the sender's and receiver's system calls to a mode.
var udpModes = map[string]string{
	"single mmsg": Single, "mmsg mmsg": Mmsg, "gso mmsg": GSO, "gso gro": GSOGRO, "single single": oneRead, "single gro": groOnly,
}

// modeOf returns the send mode that all ok trials of a row observed, "" if none.
func modeOf(r Row) string {
	o := r.Observed
	calls := record.Send.Of(o) + " " + record.Recv.Of(o)
	switch {
	case record.Tool.Of(o) != record.Engine || record.Rate.In(o):
		return ""
	case !record.MSS.In(o) && !record.Streams.In(o): // one
		return udpModes[calls]
	case record.Streams.Of(o) == 1 && calls == "copy copy":
		return TCP
	}
	return ""
}

// Between lists the modes after from, up to and including to.
func Between(from, to string) []string {
	return modeOrder[slices.Index(modeOrder, from)+1 : slices.Index(modeOrder, to)+1]
}
