package explain

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/record"
)

// failures says which trials of a network have no value, and why. Disturbed ones have one.
func (r Premises) failures(network string) []Statement {
	s := Statement{Subject: Failure}
	var clauses []lang.Text
	var ways []lang.Text // in which trials fail
	fail := map[lang.Text][]lang.Text{}
	failed, all := 0, 0
	for t, row := range r.Rows() {
		if row.Network != network {
			continue
		}
		reasons, n := map[lang.Text]int{}, 0
		for _, p := range row.Points {
			if p.Status == record.OK || p.Status == record.Disturbed {
				continue
			}
			n++
			reasons[why(p)]++
		}
		all += len(row.Points)
		if failed += n; n == 0 {
			continue
		}
		c := cell{t, row}
		often := slices.SortedFunc(maps.Keys(reasons), func(a, b lang.Text) int {
			return cmp.Or(cmp.Compare(reasons[b], reasons[a]), cmp.Compare(a, b))
		})
		if fail[often[0]] == nil {
			ways = append(ways, often[0])
		}
		fail[often[0]] = append(fail[often[0]], lang.T("%d of %d of %s", n, len(row.Points), r.name(c)))
		for _, w := range often {
			s.Evidence = append(s.Evidence, lang.T("%s: %d %s", r.name(c), reasons[w], w))
		}
		s.Cells = append(s.Cells, t.Cell(*row))
	}
	if failed == 0 {
		return nil
	}
	for _, how := range ways {
		cells := few(fail[how])
		if len(fail[how]) == 2 {
			cells = lang.Join(fail[how], lang.T(" and "))
		}
		clauses = append(clauses, lang.T("%s %s", cells, how))
	}
	s.Text = lang.T("%d of %d trials have no value: %s", failed, all, few(clauses))
	return []Statement{s}
}

// longestReason bounds a reason in a sentence, characters: programs print what they like.
const longestReason = 160

// why says how a trial ended and why.
func why(p analysis.Point) lang.Text {
	reason := prose.Reason(p.Reason, longestReason)
	how := lang.T("failed")
	switch p.Status {
	case record.Invalid:
		how = lang.T("are invalid")
	case record.Skipped:
		how = lang.T("were skipped")
	}
	if reason == "" {
		return how
	}
	return lang.T("%s: %s", how, lang.Stored(reason))
}
