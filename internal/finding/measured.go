package finding

import (
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// majority ends the Doc of rules that analysis.Exceeds decides.
const majority = " More than half of the blocks, of at least three, must show it, and the interval over blocks must exclude 0."

// certainly ends the Doc of rules whose threshold separates an effect from what sound networks show too.
const certainly = " The whole interval must lie above the threshold: sound networks come near it."

// clearly reports whether a share's whole interval lies above a threshold.
func clearly(share stat.Interval, threshold float64) bool {
	return share.Bounded() && share.Lo > threshold
}

// measured turns a check of a row into a Check. Rows without evidence are left out. Devices and ends are those of one
// direction, so each direction of a run is checked by itself.
func measured(check func(*analysis.Table, *analysis.Row) []Finding) func(*analysis.Run) []Finding {
	one := rows(func(t *analysis.Table, r *analysis.Row) []Finding {
		if len(r.Evidence()) == 0 {
			return nil
		}
		return check(t, r)
	})
	return func(run *analysis.Run) []Finding {
		ways, several := run.Ways()
		if !several {
			return one(run)
		}
		var all []Finding
		for _, w := range ways {
			ends := map[string]way{}
			for t, r := range w.Rows() {
				if len(r.Evidence()) > 0 {
					e := last(r).Evidence
					ends[t.Cell(*r).String()] = way{e.Sender.Node, e.Receiver.Node}
				}
			}
			for _, f := range one(w) {
				f.way = ends[f.Cells[0].String()]
				all = append(all, f)
			}
		}
		return likewise(all, len(ways))
	}
}

// A way is a direction, from the node of the sender to that of the receiver.
type way struct{ from, to string }

// likewise keeps one of the findings that several directions show about one cell and one place, and says in which
// direction each holds, and of how many.
func likewise(all []Finding, ways int) (out []Finding) {
	var others []int
	for _, f := range all {
		i := slices.IndexFunc(out, func(g Finding) bool {
			return f.Place == g.Place && f.Subject == g.Subject && f.Cells[0].String() == g.Cells[0].String() && f.way != g.way
		})
		if i < 0 {
			out, others = append(out, f), append(others, 0)
			continue
		}
		others[i]++
	}
	for i := range out {
		f := &out[i]
		switch n := others[i]; {
		case n == 0:
			f.Text = lang.T("from %s to %s: %s", f.way.from, f.way.to, f.Text)
		case n == 1 && ways == 2:
			f.Text = lang.T("in both directions: %s", f.Text)
		case n == 1:
			f.Text = lang.T("from %s to %s, and alike in one other direction: %s", f.way.from, f.way.to, f.Text)
		default:
			f.Text = lang.T("from %s to %s, and alike in %d other directions: %s", f.way.from, f.way.to, n, f.Text)
		}
	}
	return out
}

// lost turns the description of a loss into a rule: it reports the losses of the path, and of the replies'
// path, that are of the rule's kind.
func lost(rule string, describe func(*analysis.Table, *analysis.Row, *loss) Finding) func(*analysis.Table, *analysis.Row, losses) []Finding {
	return func(t *analysis.Table, r *analysis.Row, all losses) (out []Finding) {
		for _, l := range all.steps {
			if l.rule != rule {
				continue
			}
			f := describe(t, r, l)
			if l.back {
				f.Text = lang.T("on the replies' way: %s", f.Text)
			}
			f.Severity, f.Place = Warning, l.place
			f.Number = &Number{Name: lang.T("lost"), Unit: "1", Value: l.Share}
			base := baseLoss(r, l.gap) // which can be too irregular to be a finding
			f.Shared = base.Center > countedLoss && base.Center >= l.Share.Lo
			f.Evidence = append([]lang.Text{lang.T("%s of %s packets, in %d blocks", prose.Thousands(l.lost), prose.Thousands(l.of), l.Share.N)}, f.Evidence...)
			if l.why != "" {
				f.Evidence = append(f.Evidence, l.why)
			}
			f.lessLoss(t, r)
			out = append(out, f)
		}
		return out
	}
}

// baseLoss returns the share that the baseline loses at the same step in the blocks of a row: at the same place, or at the socket.
func baseLoss(r *analysis.Row, step gap) stat.Interval {
	all := r.BaseEvidence()
	sizes := meanSizes(all)
	share, _ := analysis.ShareExceeds(all, 0, func(o analysis.Observed) (lost, of float64) {
		found, _ := gaps(o, sizes)
		for _, g := range found {
			if g.rule == step.rule && g.back == step.back && (g.rule == atSocket || g.place == step.place) {
				return g.lost, g.of
			}
		}
		return 0, entered(o.Evidence)
	})
	return share
}

// Because adds the kernel's reason for packets that it dropped at a device, as a trace of the network saw them, to the
// evidence of the losses there.
func Because(all []Finding, network, node, dev, reason string, packets int) {
	for i := range all {
		f := &all[i]
		loss := slices.Contains([]string{atQueue, atBacklog, atDevice, atMTU, atInput, atChecksum, atSocket}, f.Rule)
		if loss && (f.Place == node || f.Place == node+" "+dev) && slices.ContainsFunc(f.Cells, func(c analysis.Cell) bool { return c.Network == network }) {
			f.Evidence = append(f.Evidence, lang.T("a trace saw the kernel drop %d packets there: %s", packets, reason))
		}
	}
}

// lessLoss completes the test of a loss. A probe that loses datagrams loses half of them at most without the
// cause; one that sends them again is faster. There is no test if the probe reports neither a loss nor a rate.
func (f *Finding) lessLoss(t *analysis.Table, r *analysis.Row) {
	switch {
	case f.Test == nil:
	case r.Lost.N > 0:
		f.Test.Metric, f.Test.Factor = record.Loss, 0.5
		f.Test.Text = lang.T("Refuted if removing the cause does not halve the loss")
	case strings.HasSuffix(t.Unit, "/s"):
		f.Test.Metric, f.Test.Factor = t.Metric, 1.05
		f.Test.Text = lang.T("Refuted if removing the cause adds less than 5 %% %s", lang.Quantity(t.Metric))
	default:
		f.Test = nil
	}
}

// lessCPU predicts a cost that falls at least to the factor; nil if the trials measured no cost.
func lessCPU(r *analysis.Row, factor float64, fix ...plan.Step) *Test {
	if r.Own.Name == "" || len(fix) == 0 {
		return nil
	}
	return &Test{Text: lang.T("Refuted if removing the cause saves less than %.0f %% of the CPU time %s", 100*(1-factor), perWork(r)), Fix: fix, Metric: r.Own.Name, Factor: factor}
}

func perWork(r *analysis.Row) lang.Text {
	switch r.Own.Name {
	case record.CPUOwnPerPacket:
		return lang.T("per packet")
	case record.CPUOwnPerTransaction:
		return lang.T("per transaction")
	}
	return lang.T("per bit")
}

// threads returns the number of threads whose times an end adds up.
func threads(o analysis.Observed) float64 { return float64(max(1, record.Streams.Of(o.Observed))) }

// receiverBusy returns the share of a CPU that each of the receiver's threads used, and whether they are full:
// then the program is the limit, not its buffer.
func receiverBusy(r *analysis.Row) (share stat.Interval, full bool) {
	const busy = 0.9
	return analysis.ShareExceeds(r.Evidence(), busy, func(o analysis.Observed) (cpu, window float64) {
		return o.Evidence.Receiver.CPU, o.Evidence.Window * threads(o)
	})
}

// loaded reports whether a background load shares the path's devices: then mean sizes of packets and counts of
// fragments are not the probe's alone.
func loaded(t *analysis.Table) bool { return t.Config["load"] != "" && t.Config["load"] != "idle" }

// last returns the row's last trial with evidence.
func last(r *analysis.Row) analysis.Observed { return r.Evidence()[len(r.Evidence())-1] }

// overIPv6 reports whether the receiver got a trial's packets by IPv6.
func overIPv6(t *evidence.Trial) bool {
	c := t.Nodes[t.Receiver.Node]
	return c["ip6.InReceives"] > c["ip.InReceives"]
}

// settings returns what held in the row's last trial that knows it; nil if none does.
func settings(r *analysis.Row) *evidence.Settings { return settingsOf(r.Evidence()) }

func settingsOf(all []analysis.Observed) *evidence.Settings {
	for _, o := range slices.Backward(all) {
		if o.Settings != nil {
			return o.Settings
		}
	}
	return nil
}

// deviceOf returns the settings of a device; false if they are unknown.
func deviceOf(s *evidence.Settings, in, dev string) (evidence.Device, bool) {
	if s == nil {
		return evidence.Device{}, false
	}
	d, ok := s.Places[in].Devices[dev]
	return d, ok
}

// frequent returns the most frequent index that of returns, -1 without one that is not negative.
func frequent(all []analysis.Observed, of func(analysis.Observed) int) int {
	best, times := -1, map[int]int{}
	for _, o := range all {
		i := of(o)
		if times[i]++; i >= 0 && (best < 0 || times[i] > times[best]) {
			best = i
		}
	}
	return best
}

// flush returns the step that removes a node's packet filters; none if it has none.
func flush(s *evidence.Settings, node string) []plan.Step {
	if s == nil {
		return nil
	}
	if n := s.Places[node].Rules; n == nil || *n == 0 {
		return nil
	}
	return []plan.Step{{In: node, Exec: &plan.Exec{Argv: []string{"nft", "flush", "ruleset"}}}}
}
