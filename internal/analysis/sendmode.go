package analysis

import (
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/stat"
)

// Ways in which bytes get from one program to another, in the order in which a gap
// is taken apart. A probe is recognised by what it found, whatever its name is.
const (
	Single = "single"  // UDP, one send per datagram
	Mmsg   = "mmsg"    // many datagrams per system call
	GSO    = "gso"     // many datagrams in one packet (UDP_SEGMENT), taken apart at the socket at the latest
	GSOGRO = "gso-gro" // and there neither (UDP_GRO): they stay together until the program has them
	TCP    = "tcp"     // one stream, with segmentation offload

	// Beside that order, for checks.
	oneRead = "recv-single" // Single, received with a system call per datagram
	groOnly = "gro"         // Single, received with UDP_GRO
	off     = "/off"        // after the name of a way: nothing is offloaded
)

var wayOrder = []string{Single, Mmsg, GSO, GSOGRO, TCP}

// A Check is a ratio beside the steps that must come out in a certain way if they
// mean what they seem to.
type Check struct {
	Name  string        `json:"name"`
	Ratio stat.Interval `json:"ratio"`

	of, to string // ways
}

// Names of checks.
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

// offload is the factor that switches segmentation off; without it, it is on.
const offload = "offload"

// A wayGroup is rows that may be compared: those of UDP have datagrams of one size,
// and factors other than offload have the same levels.
type wayGroup struct {
	levels map[string]string         // of the factors that vary
	rows   map[string]map[string]Row // by network and way; of two that go one way the first
}

func (p Pivot) wayGroups() []wayGroup {
	type same struct{ asked, datagram string }
	var order []same
	levels := map[same]map[string]string{}
	for _, t := range p.Tables {
		k := same{key(without(t.Config, offload)), t.datagram()}
		if _, known := levels[k]; !known && k.datagram != "" {
			order = append(order, k)
			levels[k] = without(t.Levels, offload)
		}
	}
	var out []wayGroup
	for _, k := range order {
		g := wayGroup{levels[k], map[string]map[string]Row{}}
		for _, t := range p.Tables {
			if d := t.datagram(); key(without(t.Config, offload)) == k.asked && (d == "" || d == k.datagram) {
				g.add(t)
			}
		}
		out = append(out, g)
	}
	return out
}

func (g wayGroup) add(t Table) {
	for _, r := range t.Rows {
		way := wayOf(r)
		if way == "" || t.Metric != "throughput" {
			continue
		}
		if t.Config[offload] == "off" {
			way += off
		}
		if g.rows[r.Network] == nil {
			g.rows[r.Network] = map[string]Row{}
		}
		if _, twice := g.rows[r.Network][way]; !twice {
			g.rows[r.Network][way] = r
		}
	}
}

func without(m map[string]string, name string) map[string]string {
	out := maps.Clone(m)
	delete(out, name)
	return out
}

// wayOf recognises a row by what all its ok trials found, "" when it is of no way.
func wayOf(r Row) string {
	f := r.Observed
	switch {
	case f["tool"] != "weir engine" || f["rate"] != "":
		return ""
	case f["mss"] != "":
		if f["streams"] == "1" && f["send"] == "copy" && f["recv"] == "copy" {
			return TCP
		}
		return ""
	}
	switch f["send"] + " " + f["recv"] {
	case "single mmsg":
		return Single
	case "mmsg mmsg":
		return Mmsg
	case "gso mmsg":
		return GSO
	case "gso gro":
		return GSOGRO
	case "single single":
		return oneRead
	case "single gro":
		return groOnly
	}
	return ""
}

// Between lists the ways after from, up to and with to, in the order in which gaps
// are taken apart.
func Between(from, to string) []string {
	return wayOrder[slices.Index(wayOrder, from)+1 : slices.Index(wayOrder, to)+1]
}
