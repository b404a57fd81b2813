package explain

import (
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/record"
)

// missing names what the run lacks for an explanation, each with the command that would measure it.
func (r Premises) missing() (out []lang.Text) {
	networks := strings.Join(r.Networks, ",")
	switch {
	case r.Unpaired:
		return []lang.Text{lang.T("These results are imported: nothing observed the path or the CPU time. weir run -n host,vxlan-overlay measures both.")}
	case !r.anyValue():
		return []lang.Text{lang.T("No trial of this run has a value, so there is nothing to explain.")}
	case !r.Known():
		return []lang.Text{lang.T("This run has no evidence of its path: an older version of weir measured it. weir run -n %s measures it again, with evidence.", networks)}
	case r.Baseline == "" && len(r.Networks) > 1:
		out = append(out, lang.T("Nothing divides these costs: the study compares no network with a baseline. {to: {network: %s}} under compare adds one.", r.Networks[0]))
	case len(r.Networks) < 2:
		out = append(out, lang.T("Nothing divides these costs: the run compares no network with a baseline. weir run -n host,%s adds one.", r.Networks[len(r.Networks)-1]))
	}
	var foreign []lang.Text
	bounded, counted, clocks := false, false, false
	for t, row := range r.Rows() {
		if row.Counted() == 0 {
			continue
		}
		counted = true
		bounded = bounded || row.Value.Bounded()
		clocks = clocks || row.Own.Value.N > 0
		if row.Own.Value.N == 0 && record.Tool.Of(row.Observed) != record.Engine && !slices.Contains(foreign, lang.Text(t.Probe)) {
			foreign = append(foreign, lang.Text(t.Probe))
		}
	}
	switch {
	case len(foreign) == 0:
	case clocks:
		out = append(out, lang.T("%s: no CPU time per packet, because only weir's engine reads the clocks of its threads.", prose.And(foreign)))
	default:
		out = append(out, lang.T("%s: no CPU time per packet, because only weir's engine reads the clocks of its threads. weir run -n %s -p tcp-stream,udp-stream measures it.",
			prose.And(foreign), networks))
	}
	if counted && !bounded {
		out = append(out, lang.T("%d blocks are too few for intervals, and without an interval weir says nothing about a difference: repeat the run with --blocks 8.", r.Blocks))
	}
	return out
}

// anyValue reports whether a trial of the run has a value.
func (r Premises) anyValue() bool {
	for _, row := range r.Rows() {
		if row.Counted() > 0 {
			return true
		}
	}
	return false
}
