package section

import (
	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/record"
)

// Datapath explains what a run on one machine measures.
func Datapath(r *account.Account) []string {
	if r.Unpaired {
		return []string{say("These results are imported: weir did not measure them, and knows of their machines, networks and order only what the files say. " +
			"Nothing proves which path the packets took.")}
	}
	if r.Target.Exists() {
		return found(r)
	}
	out := []string{say("One machine is a datapath bench: both ends share its CPUs and no NIC is involved. " +
		"These numbers are datapath cost, not network throughput.")}
	for _, x := range r.Results {
		if record.AtOnce.In(x.Observed) {
			return append(out, say("Several pairs of hosts were measured at once and shared the machine. Absolute figures describe a shared machine, "+
				"not one pair alone, and CPU time cannot be attributed to a pair. With one-at-a-time, every pair has the machine to itself."))
		}
	}
	return out
}

// found explains what a run on machines that exist measures.
func found(r *account.Account) []string {
	out := []string{say("weir found these networks and changed nothing: whatever else used the machines and the links between them is part of the numbers.")}
	if len(r.Machines) == 1 {
		out = append(out, say("All ends are on one machine and share its CPUs, and no NIC is involved: the numbers are the cost of the datapath."))
	}
	if r.Analysis.Pairs > 1 {
		out = append(out, say("Disjoint pairs of machines were measured at once, and shared the links between them."))
	}
	return out
}

func datapathSection(s source) []doc.Section {
	return []doc.Section{{ID: "datapath", Title: say("What was measured"), Notes: Datapath(s.Account), In: doc.Full}}
}
