package export

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A Citation says how a paper names runs.
type Citation struct {
	Prefix  string // of every macro and key: letters, such as "weir"
	Sum     string // identifies the results (store.Sum)
	Package string // SHA-256 of the package that has the results, in hexadecimal; "" for none
}

// A macro is a control word of TeX and what it stands for, escaped.
type macro struct{ name, text string }

// Write writes runs as one file that LaTeX and BibTeX both read. LaTeX stops at \endinput, after a macro for each part of
// each number; BibTeX skips what is outside its entries. A number that the runs lack has no macro, so a paper that uses it
// cannot be built.
func (c Citation) Write(w io.Writer, runs []*account.Account) error {
	all := append(c.aboutRun(runs), c.numbers(runs)...)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%% Numbers of %s, written by weir cite. SHA-256 of the results:\n%% %s\n", c.title(runs), c.Sum)
	if c.Package != "" {
		fmt.Fprintf(&b, "%% SHA-256 of the package that has them, for weir package --check --sum:\n%% %s\n", c.Package)
	}
	fmt.Fprintf(&b, "%% \\input this file, and name it in \\bibliography too; \\cite{%s} and \\cite{%[1]s-run}.\n", c.Prefix)
	seen := map[string]bool{}
	for _, m := range all {
		if !seen[m.name] { // two contrasts can state the same ratio
			seen[m.name] = true
			fmt.Fprintf(&b, "\\newcommand{\\%s}{%s}\n", m.name, m.text)
		}
	}
	b.WriteString("\\endinput\n\n")
	c.entries(&b, runs)
	_, err := w.Write(b.Bytes())
	return err
}

// short is the beginning of a sum, for people to compare.
func short(sum string) string { return sum[:min(12, len(sum))] }

// title names the study of the runs.
func (c Citation) title(runs []*account.Account) string {
	return cmp.Or(foreign.TeX(runs[0].Name), "a run")
}

// aboutRun returns the macros of the runs as a whole.
func (c Citation) aboutRun(runs []*account.Account) []macro {
	all := []macro{{c.Prefix + "RunChecksum", c.Sum}, {c.Prefix + "RunChecksumShort", short(c.Sum)}}
	if c.Package != "" {
		all = append(all, macro{c.Prefix + "PackageChecksum", c.Package}, macro{c.Prefix + "PackageChecksumShort", short(c.Package)})
	}
	blocks := 0
	for _, r := range runs {
		blocks += r.Analysis.Blocks
	}
	all = append(all, macro{c.Prefix + "RunCount", strconv.Itoa(len(runs))}, macro{c.Prefix + "RunBlocks", strconv.Itoa(blocks)})
	if day := began(runs); !day.IsZero() {
		all = append(all, macro{c.Prefix + "RunDate", day.Format(time.DateOnly)})
	}
	for _, f := range about(runs) {
		all = append(all, macro{c.Prefix + "Run" + aboutNames[f.key], foreign.TeX(f.value)})
	}
	return all
}

// aboutNames are the facts of runs in names of macros.
var aboutNames = map[string]string{"study": "Study", "weir": "Version", "kernel": "Kernel", "distribution": "Distribution", "machine": "Machine", "cpu": "CPU", "cpus": "CPUs"}

// began returns when the first trial began, zero without one.
func began(runs []*account.Account) (first time.Time) {
	for _, r := range runs {
		if t, _ := r.Times(); first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first.UTC()
}

// numbers returns the macros of all numbers: five for each. Names do not depend on what else was measured, unless two
// differ only in characters that a control word lacks: both then end in letters of their own.
func (c Citation) numbers(runs []*account.Account) (out []macro) {
	all := slices.Concat(numbers(runs), distributions(runs), goals(runs))
	baseline := runs[0].Analysis.Baseline
	cells := map[string]map[string]bool{} // by word
	for _, n := range all {
		w := n.word(baseline)
		if cells[w] == nil {
			cells[w] = map[string]bool{}
		}
		cells[w][n.identity()] = true
	}
	for _, n := range all {
		name := c.Prefix + n.word(baseline)
		if len(cells[n.word(baseline)]) > 1 {
			name += letters(n.identity())
		}
		v := prose.Quantity(n.interval, n.unit)
		if n.Compared != "" {
			v = prose.Quotient(n.interval)
		}
		out = append(out, macro{name, foreign.TeX(v.Center)})
		if v.Low != "" {
			out = append(out, macro{name + "Low", foreign.TeX(v.Low)}, macro{name + "High", foreign.TeX(v.High)})
		}
		if v.Unit != "" {
			out = append(out, macro{name + "Unit", foreign.TeX(v.Unit)})
		}
		text := v.String()
		if n.Compared != "" && !n.interval.Bounded() { // a ratio is not cited as if it were certain
			text += " (no interval)"
		}
		out = append(out, macro{name + "Text", foreign.TeX(text)})
	}
	return out
}

// distributions returns the percentiles and the loss of a single run; those of several are not pooled.
func distributions(runs []*account.Account) (out []number) {
	if len(runs) != 1 {
		return nil
	}
	for t, row := range runs[0].Analysis.Rows() {
		add := func(q string, unit string, i stat.Interval) {
			if i.N > 0 {
				out = append(out, number{t.Cell(*row), t.Config, record.Quantity(q), unit, i})
			}
		}
		for _, p := range row.Percentiles {
			add("response p"+strconv.FormatFloat(100*p.P, 'f', -1, 64), "s", p.Seconds)
		}
		if row.Lost.N > 0 {
			add("lost share", "%", row.Lost.Scaled(100))
		}
	}
	return out
}

// goals returns what searches found for each goal on loss: the goal is in the name as a factor is.
func goals(runs []*account.Account) (out []number) {
	for _, g := range analysis.Goals(account.Analyses(runs)) {
		factors := with(g.Config, map[string]string{"goal": g.Loss})
		for _, found := range []struct {
			metric record.Quantity
			rate   stat.Interval
		}{{record.ThroughputAt, g.Throughput}, {record.BoundLower, g.Lower}, {record.BoundUpper, g.Upper}} {
			if found.rate.N > 0 {
				out = append(out, number{g.Cell, factors, found.metric, "packet/s", found.rate})
			}
		}
	}
	return out
}

// entries writes the entries of BibTeX: weir, and what was measured with it.
func (c Citation) entries(b *bytes.Buffer, runs []*account.Account) {
	known := map[string]string{}
	for _, f := range about(runs) {
		known[f.key] = foreign.TeX(f.value)
	}
	fmt.Fprintf(b, "@misc{%s,\n  author = {{The weir maintainers}},\n  title = {{weir}: what a container network costs, and why},\n"+
		"  howpublished = {https://github.com/weir-bench/weir},\n", c.Prefix)
	if v := known["weir"]; v != "" {
		fmt.Fprintf(b, "  note = {Version %s},\n", v)
	}
	fmt.Fprintf(b, "}\n\n@misc{%s-run,\n  key = {weir run},\n  title = {Results of {%s}, measured with weir},\n", c.Prefix, c.title(runs))
	if day := began(runs); !day.IsZero() {
		fmt.Fprintf(b, "  year = {%d},\n  month = %s,\n", day.Year(), strings.ToLower(day.Month().String()[:3]))
	}
	note := fmt.Sprintf("SHA-256 %s\\ldots{}", short(c.Sum))
	if k := known["kernel"]; k != "" {
		note = "Linux " + k + "; " + note
	}
	if k := known["cpu"]; k != "" {
		note = k + "; " + note
	}
	if c.Package != "" { // whole: it is what a reader checks the archive by
		note += "; package with SHA-256 " + broken(c.Package)
	}
	fmt.Fprintf(b, "  note = {%s},\n}\n", note)
}

// broken lets TeX break a long word.
func broken(word string) string {
	var parts []string
	for part := range slices.Chunk([]byte(word), 16) {
		parts = append(parts, string(part))
	}
	return strings.Join(parts, `\allowbreak{}`)
}
