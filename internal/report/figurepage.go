package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/internal/stat"
)

// FigurePage writes a Markdown table per document with a row for each figure. drawn has the files of the
// pictures by figure; the page links to them in the directory of that name next to it.
func FigurePage(w io.Writer, rs []figure.Result, drawn map[string]string) error {
	b := bufio.NewWriter(w)
	document := ""
	for _, r := range rs {
		if r.Document != document {
			document = r.Document
			title := mdText(r.Source)
			if r.Link != "" {
				title = fmt.Sprintf("[%s](%s)", title, r.Link)
			}
			fmt.Fprintf(b, "\n### %s\n\n| figure | shows | command | published | here | verdict |\n|---|---|---|---|---|---|\n", title)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", pagePlace(r, drawn[r.ID]), mdText(r.Caption), pageCommand(r), mdText(r.Numbers), pageHere(r), pageVerdict(r))
	}
	return b.Flush()
}

func pagePlace(r figure.Result, picture string) string {
	name := r.ID
	if picture != "" {
		dir, file := filepath.Split(picture)
		name = fmt.Sprintf("[%s](%s)", r.ID, filepath.ToSlash(filepath.Join(filepath.Base(filepath.Clean(dir)), file)))
	}
	return fmt.Sprintf("%s: %s (section %s)", name, mdText(r.Place), mdText(r.Section))
}

func pageCommand(r figure.Result) string {
	var parts []string
	if r.Measured() {
		parts = append(parts, "`weir figure "+r.ID+"` (study "+r.Study.Name+")")
	}
	for _, one := range strings.Split(r.Instead, "; ") {
		switch {
		case strings.HasPrefix(one, "weir "):
			parts = append(parts, "`"+one+"`")
		case one != "":
			parts = append(parts, mdText(one))
		}
	}
	return strings.Join(parts, ", ")
}

func pageHere(r figure.Result) string {
	var parts []string
	for _, c := range r.Comparisons {
		here := "not measured"
		if c.Here.N > 0 {
			here = ratioWithin(c.Here)
		}
		parts = append(parts, fmt.Sprintf("%s ÷ %s: published %s×, here %s", c.Of, c.To, fixed(c.Published, 2), here))
	}
	for _, h := range r.Chains {
		if last := !slices.ContainsFunc(r.Chains, func(o figure.Hop) bool {
			return o.Network == h.Network && o.Probe == h.Probe && o.Metric == h.Metric && o.Segments > h.Segments
		}); last && h.Ratio.N > 0 {
			of := "that of 1"
			if h.Adds {
				of = "the sum of its segments"
			}
			parts = append(parts, fmt.Sprintf("%s %s over %d hops: %s %s", h.Network, h.Probe, h.Segments, ratioWithin(h.Ratio), of))
		}
	}
	if len(r.Comparisons)+len(r.Chains) == 0 && len(r.Points) > 0 {
		parts = append(parts, "in the picture")
	}
	for _, m := range r.Missing {
		parts = append(parts, "not measured: "+figure.Cut(m, 120))
	}
	if r.Cannot != "" {
		parts = append(parts, r.Cannot)
	}
	return mdText(strings.Join(parts, "; "))
}

// ratioWithin formats a ratio with its interval: "0.68× [0.65, 0.71]".
func ratioWithin(i stat.Interval) string {
	return fixed(i.Center, ratioDigits(i)) + "×" + interval(i)
}

// pageVerdict is the verdict against the published numbers.
func pageVerdict(r figure.Result) string {
	switch {
	case !r.Measured():
		return "–"
	case r.From == "":
		return "not measured yet"
	case len(r.Claims) == 0 && len(r.Comparisons) > 0:
		return "compared, no claim"
	case len(r.Claims) == 0:
		return "nothing published to compare with"
	}
	var parts []string
	for _, o := range r.Outcomes {
		v := string(o.Verdict)
		if o.Verdict == claim.Untestable {
			v = "not tested"
		}
		parts = append(parts, fmt.Sprintf("[%s](claims.md): %s", o.Claim.ID, v))
	}
	return cmp.Or(strings.Join(parts, "; "), "–")
}
