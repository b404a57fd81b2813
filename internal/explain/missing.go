package explain

import (
	"fmt"
	"slices"
	"strings"
)

// missing names what the run lacks for an explanation, each with the command that would measure it.
func (r Run) missing() (out []string) {
	networks := strings.Join(r.Networks, ",")
	switch {
	case r.Unpaired:
		return []string{"These results are imported: nothing observed the path or the CPU time. weir run -n host,vxlan-overlay measures both."}
	case !r.Known():
		return []string{"This run has no evidence of its path: an older version of weir measured it. weir run -n " + networks + " measures it again, with evidence."}
	case r.Baseline == "" && len(r.Networks) > 1:
		out = append(out, "Nothing divides these costs: the study compares no network with a baseline. {to: {network: "+r.Networks[0]+"}} under compare adds one.")
	case len(r.Networks) < 2:
		out = append(out, "Nothing divides these costs: the run compares no network with a baseline. weir run -n host,"+r.Networks[len(r.Networks)-1]+" adds one.")
	}
	var foreign []string
	bounded, counted := false, false
	for t, row := range r.Rows() {
		if row.Counted() == 0 {
			continue
		}
		counted = true
		bounded = bounded || row.Value.Bounded()
		if row.Own.Value.N == 0 && row.Observed["cpu.own"] == "" && !slices.Contains(foreign, t.Probe) {
			foreign = append(foreign, t.Probe)
		}
	}
	if len(foreign) > 0 {
		out = append(out, fmt.Sprintf("%s: no CPU time per packet, because only weir's engine reads the clocks of its threads. weir run -n %s -p tcp-stream,udp-stream measures it.",
			list(foreign), networks))
	}
	if counted && !bounded {
		out = append(out, fmt.Sprintf("%d blocks are too few for intervals, and without an interval there is no statement. weir run -n %s --blocks 8 measures enough.", r.Blocks, networks))
	}
	return out
}
