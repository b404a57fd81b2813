package export

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/record"
)

// Directions writes what results claim in the form of package claim: the direction of each ratio to the baseline whose interval
// excludes 1. Its size is not claimed: it differs between machines, as a page about both shows. It returns how many there are.
func Directions(w io.Writer, runs []*account.Account) (n int, _ error) {
	base := runs[0].Analysis.Baseline
	var b bytes.Buffer
	fmt.Fprintf(&b, "source: %s\nconditions: %s\nclaims:\n", quoted("Results of "+runs[0].Name), quoted(conditions(runs)))
	for _, r := range numbers(runs) {
		i := r.interval
		if r.Compared != divided(r.Network, base) || r.metric != mainOf(runs[0].Analysis, r) || !i.Bounded() || i.Contains(1) || !(i.Center > 0 && i.Center < 1e6) {
			continue
		}
		n++
		bound, side := "least", "above"
		if i.Center < 1 {
			bound, side = "most", "below"
		}
		what := strings.Join(append([]string{string(r.metric), "of", r.Probe}, r.levels(" ")...), " ")
		fmt.Fprintf(&b, "- id: %s\n  section: results\n", claimID(r.parts(), n))
		fmt.Fprintf(&b, "  text: %s\n  published: %s\n", quoted(what+" on "+r.Network+" is "+side+" that on "+base+"."), quoted(prose.Times(i)))
		fmt.Fprintf(&b, "  study: %s\n  tests:\n  - of: %s\n    to: %s\n", quoted(runs[0].Name), r.claimed(r.Network), r.claimed(base))
		fmt.Fprintf(&b, "    ratio: %s\n    %s: 1\n", strconv.FormatFloat(i.Center, 'f', -1, 64), bound)
		fmt.Fprintf(&b, "  tolerance: %s\n  note: %s\n", quoted("The whole interval was "+side+" 1. The size of a ratio differs between machines, so it is not a claim."),
			quoted("Another kernel, CPU or load can turn it; the page about both machines shows how they differ."))
	}
	if n == 0 {
		return 0, nil
	}
	_, err := w.Write(b.Bytes())
	return n, err
}

// levels are the factors of a number, each with its level.
func (n number) levels(between string) (all []string) {
	for _, k := range slices.Sorted(maps.Keys(n.factors)) {
		all = append(all, quoted(k)+between+quoted(n.factors[k]))
	}
	return all
}

// claimed is the cell of a number, on a network, as claims name it.
func (n number) claimed(network string) string {
	cell := "network: " + quoted(network) + ", probe: " + quoted(n.Probe)
	if all := n.levels(": "); all != nil {
		cell += ", levels: {" + strings.Join(all, ", ") + "}"
	}
	return "{" + cell + "}"
}

// mainOf returns the value for which the probe of a number exists.
func mainOf(r *analysis.Run, n number) record.Quantity {
	for t := range r.Rows() {
		if t.Probe == n.Probe {
			return t.Metric
		}
	}
	return ""
}

// conditions describe the machine in a sentence.
func conditions(runs []*account.Account) string {
	var all []string
	for _, f := range about(runs) {
		if f.key != "study" {
			all = append(all, f.key+" "+f.value)
		}
	}
	return cmp.Or(strings.Join(all, ", "), "not recorded")
}

func quoted(s string) string { return strictyaml.Quote(foreign.Line(s)) }

// claimID names a claim by its cell, and by its number if that has other letters than names of claims.
func claimID(parts []string, n int) string {
	id := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(strings.Join(parts, "-")))
	words := strings.FieldsFunc(id, func(r rune) bool { return r == '-' })
	return strings.Join(append(words, strconv.Itoa(n)), "-")
}
