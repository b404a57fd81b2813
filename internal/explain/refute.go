package explain

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// fixedName names the network, and the probe, without the supposed cause.
const fixedName = "fixed"

// Refuting returns the study of the run that can refute a statement: the cell as it was found and the same
// cell without the supposed cause, paired in blocks, and the study's baseline, which rules compare with.
// applies reports whether a factor affects a kind of probe.
func Refuting(found study.Study, s Statement, applies func(kind, factor string) bool) (out study.Study, err error) {
	c, t := s.Cells[0], s.Test
	out = found
	out.Name, out.Question = "refute-"+s.ID(), prose.Sentence(s.Text).String()
	out.Description = t.Text.String()
	out.Precision, out.MaxTime, out.Compare = 0, 0, nil
	out.AllPairs, out.Rounds, out.OneAtATime = false, 0, false
	network, ok := found.Network(c.Network)
	probe, has := found.Probe(c.Probe)
	switch {
	case found.Target.Exists():
		return out, errors.New("weir builds no networks on machines that are not its own")
	case !ok || !has:
		return out, fmt.Errorf("the study has no %s under %s", c.Network, c.Probe)
	case len(t.Fix)+len(t.Options)+len(t.Levels) == 0 && t.Network == "":
		return out, errors.New("the test changes nothing")
	}
	out.Networks, out.Probes = []study.Use{network}, []study.Use{probe}
	if base, ok := found.Network(baseline(found)); ok && base.Name != network.Name {
		out.Networks = []study.Use{base, network}
	}
	out.Factors = map[string][]string{}
	for factor, levels := range found.Factors {
		if level, varies := c.Levels[factor]; varies {
			levels = []string{level}
		}
		if len(levels) == 1 && applies(probe.Kind, factor) {
			out.Factors[factor] = levels
		}
	}
	pair, err := without(&out, found, *t)
	if err != nil {
		return out, err
	}
	if pair.To["network"] == "" { // the ratio is the network's, not the baseline's
		pair.In = study.Levels{"network": {network.Name}}
	}
	out.Compare, out.Baseline = []study.Contrast{pair}, out.Networks[0].Name
	if out.Baseline != network.Name {
		out.Compare = append(out.Compare, study.Contrast{To: map[string]string{"network": out.Baseline}})
	}
	return out, out.Validate()
}

// without adds to the only network and probe of a study those without the supposed cause, and returns the contrast that
// compares them.
func without(out *study.Study, found study.Study, t finding.Test) (pair study.Contrast, _ error) {
	network, probe := out.Networks[len(out.Networks)-1], out.Probes[0]
	pair = study.Contrast{Of: study.Levels{}, To: map[string]string{}, Value: string(t.Metric), Text: fixedName + " ÷ found"}
	change := func(factor, from, to string) { pair.To[factor], pair.Of[factor] = from, []string{to} }
	if len(t.Fix) > 0 {
		before, _ := network.Also()
		other := network.And(t.Fix...)
		if after, err := other.Also(); err != nil || len(after) != len(before)+len(t.Fix) {
			return pair, fmt.Errorf("a study cannot hold the steps of the fix: %w", cmp.Or(err, errors.New("a step was lost")))
		}
		other.Name = unused(fixedName, study.Names(out.Networks))
		out.Networks = append(out.Networks, other)
		change("network", network.Name, other.Name)
	}
	if t.Network != "" {
		if len(network.Options) > 0 {
			return pair, fmt.Errorf("%s stands for %s only without options", t.Network, network.Name)
		}
		if t.AtMost { // a bound needs the segments
			out.Networks = inPlace(found, network)
		}
		if !slices.ContainsFunc(out.Networks, func(u study.Use) bool { return u.Name == t.Network }) {
			out.Networks = append(out.Networks, study.Use{Name: t.Network, Kind: t.Network})
		}
		change("network", network.Name, t.Network)
	}
	if len(t.Options) > 0 {
		other := probe
		other.Options = maps.Clone(probe.Options)
		if other.Options == nil {
			other.Options = map[string]string{}
		}
		maps.Copy(other.Options, t.Options)
		other.Name = unused(fixedName, []string{probe.Name})
		out.Probes = append(out.Probes, other)
		change("probe", probe.Name, other.Name)
	}
	for _, factor := range slices.Sorted(maps.Keys(t.Levels)) {
		from, to := levelOf(*out, factor, t.Levels[factor]), t.Levels[factor]
		if from == to || from == "" {
			return pair, fmt.Errorf("the network as found has no level of %s other than %s", factor, to)
		}
		out.Factors[factor] = []string{from, to}
		change(factor, from, to)
	}
	return pair, nil
}

// decisive is the half width of a ratio's interval that decides a test, as a share of the way from no change to the
// predicted one, in logarithms: less than all of it, because the ratio itself can be off by as much.
const decisive = 0.6

// Precision returns the relative half width of the ratio's interval that a refuting run needs.
func Precision(t finding.Test) float64 {
	width := math.Expm1(decisive * math.Abs(math.Log(t.Factor)))
	return min(max(width, study.MinPrecision), study.MaxPrecision)
}

// Deciding yields the ratio of a refuting run on which its verdict rests: only that one must be precise. A ratio
// whose interval has no spread, as of losses that the fix removes, is precise; one of too few pairs for an interval is not.
func Deciding(run *analysis.Run) iter.Seq2[stat.Interval, float64] {
	return func(yield func(stat.Interval, float64) bool) {
		for _, c := range run.Contrasts[:min(1, len(run.Contrasts))] {
			for _, x := range c.Rows {
				if (x.Unshared() || x.Ratio.N > 0 && (x.Ratio.SE > 0 || !x.Ratio.Bounded())) && !yield(x.Ratio, run.Each) {
					return
				}
			}
		}
	}
}

// inPlace returns the networks that the study takes a network apart with, and the network itself.
func inPlace(found study.Study, network study.Use) (out []study.Use) {
	for _, n := range []string{"host", "bridge", "vxlan"} {
		if u, ok := found.Network(n); ok {
			out = append(out, u)
		}
	}
	return append(out, network)
}

// baseline returns the network that divides the others, "" if none does.
func baseline(s study.Study) string {
	if len(s.Compare) == 0 {
		return s.Baseline
	}
	for _, c := range s.Compare {
		if b := c.Baseline(); b != "" {
			return b
		}
	}
	return ""
}

// levelOf returns the level of a factor that holds in a study without other instructions: its own only
// level, or what the networks have by themselves.
func levelOf(s study.Study, factor, other string) string {
	if of := s.Factors[factor]; len(of) == 1 {
		return of[0]
	}
	switch factor {
	case "bridge-nf", "gro", "offload": // one of two
		return map[string]string{"on": "off", "off": "on"}[other]
	case "mtu":
		return fmt.Sprint(s.Topology.MTU)
	}
	return study.Neutral(factor)
}

// unused returns the name, or one with a number that is not taken.
func unused(name string, taken []string) string {
	free := name
	for n := 2; slices.Contains(taken, free); n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}

// ID names a statement in file names: letters, digits and dashes.
func (s Statement) ID() string {
	parts := []string{s.Rule}
	if s.Rule == "" {
		parts[0] = string(s.Subject)
	}
	for _, p := range []string{s.Place, s.Cells[0].Network, s.Cells[0].Probe, prose.Levels(s.Cells[0].Levels)} {
		parts = append(parts, strings.FieldsFunc(p, func(r rune) bool {
			return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9')
		})...)
	}
	const longest = 48 // a study's name has at most 64 bytes
	id := strings.Join(parts, "-")
	return id[:min(len(id), longest)]
}

// Read judges a refuting run of a statement. findings are those of the run.
func Read(s Statement, run *analysis.Run, findings []finding.Finding) Verdict {
	v := Verdict{Subject: s.Subject, Rule: s.Rule, Place: s.Place, Cell: s.Cells[0], Text: s.Text, Test: *s.Test, Reason: lang.T("the run has no such ratio"), Effect: Effect{Shared: s.Shared}}
	shown := s.Rule == "" || slices.ContainsFunc(findings, func(f finding.Finding) bool {
		return f.Rule == s.Rule && f.Place == s.Place && slices.ContainsFunc(f.Cells, func(c analysis.Cell) bool {
			return c.Network == v.Cell.Network && c.Probe == v.Cell.Probe
		})
	})
	if s.Subject == Bound {
		v.readBound(run)
	} else if len(run.Contrasts) > 0 && len(run.Contrasts[0].Rows) > 0 {
		row := run.Contrasts[0].Rows[0]
		v.Ratio, v.Reason = row.Ratio, cmp.Or(lang.Text(row.Missing), v.Reason)
		v.AtLeast, v.AtMost = row.Ends(run.Each)
	}
	v.readFailures(run)
	v.readEffect(run)
	v.judge(shown)
	return v
}

// readFailures notes that no trial with the change has a value, because its programs failed or its packets did not arrive.
func (v *Verdict) readFailures(run *analysis.Run) {
	found, failed, broken := 0, 0, 0
	var reason lang.Text
	for t, row := range run.Rows() {
		switch changed := v.changes(t, row); {
		case changed && row.Counted() > 0:
			return
		case changed:
			for _, p := range row.Points {
				if failed++; p.Status == record.Failed || p.Status == record.Invalid {
					broken++
					reason = why(p)
				}
			}
		case row.Network == v.Cell.Network:
			found += row.Counted()
		}
	}
	if v.Broken = found > 0 && broken > 0 && broken == failed; v.Broken {
		v.Reason = lang.T("none of %d trials has a value: %s", failed, reason)
	}
}

// changes reports whether a row of a refuting run is without the supposed cause.
func (v *Verdict) changes(t *analysis.Table, row *analysis.Row) bool {
	switch {
	case v.Test.Network != "":
		return row.Network == v.Test.Network
	case len(v.Test.Fix) > 0:
		return strings.HasPrefix(row.Network, fixedName) && row.Network != v.Cell.Network
	case len(v.Test.Options) > 0:
		return strings.HasPrefix(t.Probe, fixedName) && t.Probe != v.Cell.Probe && row.Network == v.Cell.Network
	}
	for factor, level := range v.Test.Levels {
		if t.Config[factor] != level || row.Network != v.Cell.Network {
			return false
		}
	}
	return len(v.Test.Levels) > 0
}

// Commands returns the commands of sh(1) that remove the supposed cause of a statement on machines that
// exist, by node. weir does not run them there.
func Commands(t finding.Test) (nodes []string, lines map[string][]string, _ error) {
	lines = map[string][]string{}
	for _, step := range t.Fix {
		var b strings.Builder
		if err := (plan.Plan{Steps: []plan.Step{step}}).Shell(&b, nil); err != nil {
			return nil, nil, err
		}
		if lines[step.In] == nil {
			nodes = append(nodes, step.In)
		}
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			line = strings.TrimPrefix(line, "ip netns exec "+step.In+" ") // the node is a machine or a pod, not a namespace of this one
			lines[step.In] = append(lines[step.In], strings.Replace(line, "ip -n "+step.In+" ", "ip ", 1))
		}
	}
	return nodes, lines, nil
}

// Flags returns the other changes of a test as a user states them.
func Flags(t finding.Test) (out []string) {
	for _, factor := range slices.Sorted(maps.Keys(t.Levels)) {
		out = append(out, "-f "+factor+"="+t.Levels[factor])
	}
	for _, option := range slices.Sorted(maps.Keys(t.Options)) {
		out = append(out, "the probe's option "+option+": "+t.Options[option])
	}
	return out
}
