package finding

import (
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
)

// explains lists the rules whose findings about a cell follow from one of another rule about the same cell. The
// losses of a path are not here: only the first one is found.
var explains = map[string][]string{
	// A program that does not run cannot empty its socket, open its window or acknowledge in time.
	"cpu-limit":  {"contention", "slow-responses", "spurious-retransmissions", "receive-window", "send-buffer", atSocket, "full-thread", "one-cpu"},
	"same-cpu":   {"contention", "slow-responses", "spurious-retransmissions", "receive-window", "send-buffer", atSocket},
	"contention": {"slow-responses", "spurious-retransmissions", "receive-window", "send-buffer", atSocket},
	// Without checksums a device cannot segment; a sender that segments leaves nothing to cut.
	"checksum-off":    {"no-segmentation", "segmentation-lost"},
	"no-segmentation": {"segmentation-lost"},
	// The ends wait for the CPU that it uses.
	"service-in-path": {"contention"},
	// What does not fit is cut, dropped or learned about.
	atMTU:           {"learned-mtu", "small-segments"},
	"fragmentation": {"learned-mtu", "small-segments"},
	"learned-mtu":   {"small-segments"},
	// The thread's time includes the softirqs on top of it.
	"full-thread": {"one-cpu"},
}

// counted lists the rules whose findings rest on what a trial counted, and make a network slower or costlier than the
// baseline.
var counted = []string{atQueue, atDevice, atMTU, atInput, "congestion-marks", "queue-limited", "checksum-off", "no-segmentation", "segmentation-lost", "fragmentation", "small-segments", "receive-window", "congestion-window"}

// explained removes the findings that follow from others about the same cell.
func explained(run *analysis.Run, all []Finding) []Finding {
	var out []Finding
	for _, f := range all {
		if !follows(run, f, all) {
			out = append(out, f)
		}
	}
	return out
}

// follows reports whether a finding follows from another one. What the baseline has to the same degree, without the
// effect, is not the cause of the effect. What rests on the difference from the baseline alone gives way to what was counted: the
// difference can come from that. Different settings of the two sides say something only if something else is wrong at another
// place.
func follows(run *analysis.Run, f Finding, all []Finding) bool {
	elsewhere := false
	for _, cause := range all {
		if !sameCells(f, cause) || f.way != cause.way && f.way != (way{}) && cause.way != (way{}) {
			continue
		}
		near := cause.Place == f.Place || strings.HasPrefix(f.Place, cause.Place+" ")
		if slices.Contains(explains[cause.Rule], f.Rule) && !f.certain && (cause.Rule != "service-in-path" || cause.Number != nil) && !(cause.Shared && !f.Shared) {
			return true
		}
		if f.contrast && !cause.Shared && slices.Contains(counted, cause.Rule) {
			return true
		}
		if f.Rule == "unlike-peer" && cause.Number != nil && cause.Rule != "contention" && cause.Rule != "same-cpu" {
			if near {
				return true // says the same
			}
			elsewhere = true
		}
	}
	return f.Rule == "unlike-peer" && !elsewhere
}

func sameCells(a, b Finding) bool {
	return a.Cells != nil && slices.EqualFunc(a.Cells, b.Cells, func(x, y analysis.Cell) bool { return x.String() == y.String() })
}
