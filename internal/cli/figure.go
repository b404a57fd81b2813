package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/published"
	"github.com/weir-bench/weir/internal/report/render"
)

func figureCommand(version string) *cobra.Command {
	d := drawing{reproduction: reproduction{version: version}}
	c := &cobra.Command{
		Use:   "figure [FIGURE…]",
		Short: "Repeat the figures and tables of published documents, and draw them",
		Long: `Run the study behind a figure or table of one of the five documents that weir
repeats, draw it with the published numbers as open diamonds, and compare the two.
Without arguments, list the figures.

A value of another machine is only a mark: weir compares ratios, and its verdicts
are those of the claims (weir reproduce). A network or tool that is missing is left
out of the picture; the exit status is 3 if nothing could be measured.

--results DIR keeps the results of each study in a subdirectory and measures only
what is missing there. --from DIR measures nothing.`,
		Example: `  weir figure
  weir figure thesis-14 --fast
  weir figure thesis-12 --from weir-results/all -o thesis-12.svg
  weir figure thesis-11 --from weir-results/all --spread sd --absolute
  weir figure --all --fast --results weir-results/all -o pictures/`,
		ValidArgsFunction: func(c *cobra.Command, as []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			fs, _ := figure.Shipped() // a mistake in the files is reported when they are used
			return complete(figureIDs(fs))(c, as, toComplete)
		},
		RunE: func(c *cobra.Command, as []string) error { return d.choose(c.Context(), as) },
	}
	c.Flags().BoolVar(&d.all, "all", false, "draw every figure")
	c.Flags().BoolVar(&d.fast, "fast", false, "use the fast form of each study: few blocks, short windows, wide intervals")
	c.Flags().StringArrayVar(&d.from, "from", nil, "results directory, or directory of several runs, to draw instead of measuring; repeatable")
	c.Flags().StringVar(&d.dir, "results", "", "directory for the results of each study (default weir-results/figure-TIME)")
	c.Flags().StringVarP(&d.out, "output", "o", "", "file for the picture, or directory for several (default FIGURE.svg)")
	c.Flags().StringVar(&d.format, "format", "", "svg, of which rsvg-convert makes png and pdf")
	c.Flags().StringVar(&d.spread, "spread", "interval", "interval: median and interval; sd: mean and standard deviation")
	c.Flags().BoolVar(&d.look.Absolute, "absolute", false, "draw values in their unit instead of ratios")
	c.Flags().BoolVar(&d.keep, "keep-disturbed", false, "count trials that programs outside the run disturbed like all others")
	c.Flags().BoolVar(&d.json, "json", false, "print JSON")
	c.Flags().BoolVar(&d.md, "md", false, "print a Markdown table with a row for each figure")
	_ = c.MarkFlagDirname("results")
	_ = c.MarkFlagDirname("from")
	return c
}

// A drawing repeats figures.
type drawing struct {
	reproduction
	figures []figure.Figure
	all     bool
	from    []string
	out     string
	format  string // "" or svg
	spread  string
	look    figure.Look
}

// choose checks the flags, and draws the figures that the user names.
func (d *drawing) choose(ctx context.Context, names []string) error {
	shipped, err := figure.Shipped()
	if err != nil {
		return err
	}
	d.look.SD = d.spread == "sd"
	switch {
	case d.spread != "interval" && d.spread != "sd":
		return usage("--spread %q: want interval or sd", d.spread)
	case d.json && d.md:
		return usage("--json and --md cannot be combined")
	case d.all && len(names) > 0:
		return usage("--all draws every figure; it cannot be combined with names of figures")
	case d.from != nil && (d.dir != "" || d.fast):
		return usage("--from draws existing results; it cannot be combined with --results or --fast")
	case len(names) == 0 && !d.all:
		return listFigures(shipped, d.json)
	}
	if d.figures = shipped; !d.all {
		if d.figures, err = chooseFigures(shipped, names); err != nil {
			return err
		}
	}
	if err := pictureFormat(d.format, d.out); err != nil {
		return err
	}
	if len(d.figures) > 1 && d.oneFile() {
		return usage("-o %s: %d figures need a directory", d.out, len(d.figures))
	}
	return d.run(ctx)
}

// oneFile reports whether out is a file, not a directory.
func (d *drawing) oneFile() bool {
	return d.out == "-" || filepath.Ext(d.out) == ".svg"
}

func figureIDs(fs []figure.Figure) (ids []string) {
	for _, f := range fs {
		ids = append(ids, f.ID)
	}
	return ids
}

func chooseFigures(shipped []figure.Figure, names []string) (chosen []figure.Figure, _ error) {
	for _, name := range names {
		i := slices.IndexFunc(shipped, func(f figure.Figure) bool { return f.ID == name })
		if i < 0 {
			near := ""
			if ids := nearIDs(figureIDs(shipped), name); ids != nil {
				near = " near it: " + strings.Join(ids, ", ") + ";"
			}
			return nil, usage("unknown figure %q;%s weir figure lists all %d", name, near, len(shipped))
		}
		chosen = append(chosen, shipped[i])
	}
	return chosen, nil
}

// nearIDs returns the ids that share the longest beginning with name, or one of its words; nil if there
// are none.
func nearIDs(ids []string, name string) []string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '.' || r == ' ' })
	for n := len(name); n > 2; n-- {
		var near []string
		for _, id := range ids {
			if strings.HasPrefix(id, strings.ToLower(name[:n])) || n == len(name) && slices.ContainsFunc(words[min(1, len(words)):], func(w string) bool { return len(w) > 2 && strings.Contains(id, w) }) {
				near = append(near, id)
			}
		}
		if near != nil {
			return near
		}
	}
	return nil
}

type listedFigure struct {
	figure.Figure
	Study string `json:"study,omitempty"` // absent if nothing is measured
}

func listFigures(shipped []figure.Figure, asJSON bool) error {
	if asJSON {
		var lines []listedFigure
		for _, f := range shipped {
			lines = append(lines, listedFigure{f, f.Study.Name})
		}
		return printJSON(os.Stdout, lines)
	}
	rows := [][]lang.Text{{lang.T("figure"), lang.T("place"), lang.T("study"), lang.T("fast"), lang.T("caption")}}
	for _, f := range shipped {
		name, takes := "–", lang.Text("–")
		if f.Measured() {
			name, takes = f.Study.Name, about(catalog.Estimate(catalog.Available(figure.Needed([]figure.Figure{f})).Faster()))
		}
		rows = append(rows, []lang.Text{lang.Text(f.ID), lang.Stored(f.Place), lang.Text(name), takes, lang.Stored(f.Caption)})
	}
	return printColumns(os.Stdout, rows)
}

// run measures what the figures lack, and draws them.
func (d *drawing) run(ctx context.Context) error {
	if d.from != nil {
		return d.draw(newResults(d.from, d.keep))
	}
	var have *results
	if d.dir != "" {
		have = newResults([]string{d.dir}, d.keep)
	}
	groups := map[string][]figure.Figure{} // by study
	for _, f := range d.figures {
		if f.Measured() && !have.holds(f) {
			groups[f.Study.Name] = append(groups[f.Study.Name], f)
		}
	}
	if len(groups) == 0 {
		if have == nil {
			have = newResults(nil, d.keep)
		}
		return d.draw(have)
	}
	return inLab(ctx, func() error { return d.measure(ctx, groups) })
}

// measure runs the part of each study that its figures need.
func (d *drawing) measure(ctx context.Context, groups map[string][]figure.Figure) error {
	if d.dir == "" {
		d.dir = filepath.Join("weir-results", "figure-"+time.Now().Format("20060102-150405"))
	}
	d.Runs = 1
	var todo []*runner
	var total time.Duration
	names := slices.Sorted(maps.Keys(groups))
	for _, name := range names {
		s, err := runnable(figure.Needed(groups[name]), d.fast, d.keep)
		if err != nil {
			return err
		}
		one := &runner{version: d.version, at: thisMachine, study: s, dir: filepath.Join(d.dir, name), resumeCmd: d.again()}
		if started(one.dir) { // by a run that lacks what these figures need, or by an interrupted one
			stored, err := storedStudy(one.dir)
			if err != nil {
				return err
			}
			if covers(stored, groups[name]) {
				one.resume = one.dir
			} else {
				one.dir = filepath.Join(d.dir, groups[name][0].ID)
			}
		}
		total += catalog.Estimate(s)
		todo = append(todo, one)
	}
	say(lang.T("studies to measure: %d, %s", len(todo), about(total)))
	for i, one := range todo {
		say(lang.T("study %d of %d: %s", i+1, len(todo), one.study.Name))
		if err := d.one(ctx, one); err != nil {
			return err
		}
	}
	return d.draw(newResults([]string{d.dir}, d.keep))
}

// again returns the command that continues after an interruption.
func (d *drawing) again() string {
	argv := []string{"weir", "figure", "--results", d.dir}
	for _, f := range []struct {
		flag string
		set  bool
	}{{"--fast", d.fast}, {"--keep-disturbed", d.keep}, {"--spread sd", d.look.SD}, {"--absolute", d.look.Absolute},
		{"--json", d.json}, {"--md", d.md}, {"-o " + d.out, d.out != ""}} {
		if f.set {
			argv = append(argv, f.flag)
		}
	}
	if shipped, err := figure.Shipped(); err == nil && len(shipped) == len(d.figures) {
		return strings.Join(append(argv, "--all"), " ")
	}
	return strings.Join(append(argv, figureIDs(d.figures)...), " ")
}

// draw writes the pictures of the figures that the results hold, and prints all.
func (d *drawing) draw(from *results) error {
	var out []figure.Result
	measured := false
	for _, f := range d.figures {
		r, err := from.figure(f)
		if err != nil {
			return err
		}
		measured = measured || r.Size() > 0 || !f.Measured()
		out = append(out, r)
	}
	drawn, err := d.pictures(out)
	if err != nil {
		return err
	}
	switch {
	case d.out == "-": // the picture is the output
	case d.json:
		err = printJSON(os.Stdout, out)
	case d.md:
		err = published.FigurePage(os.Stdout, out, drawn, language)
	default:
		for i, r := range out {
			if i > 0 {
				fmt.Println()
			}
			if err = render.Text(os.Stdout, spoken(published.OfFigure(r)), width()); err != nil {
				return err
			}
			if drawn[r.ID] != "" {
				fmt.Println("\n" + said(lang.T("picture: %s", drawn[r.ID])))
			}
			if r.From != "" {
				fmt.Println(said(lang.T("results: %s", r.From)))
			}
		}
	}
	if err == nil && !measured {
		return exit(exitEnvironment, fmt.Errorf("nothing was measured: %s", from.nothing(d.figures)))
	}
	return err
}

// pictures writes a file for each figure that has something to draw, and returns their names.
func (d *drawing) pictures(rs []figure.Result) (map[string]string, error) {
	drawn := map[string]string{}
	for _, r := range rs {
		if r.Size() == 0 || d.out == "" && (d.json || d.md) {
			continue
		}
		svg, err := r.SVG(d.look, language)
		if err != nil {
			warn(lang.T("figure %s: %v", r.ID, err))
			continue
		}
		file := d.out
		if len(d.figures) > 1 || !d.oneFile() {
			if file != "" {
				if err := os.MkdirAll(file, 0o755); err != nil {
					return nil, exit(exitEnvironment, err)
				}
			}
			file = filepath.Join(file, r.ID+".svg")
		}
		if err := writePicture(file, svg); err != nil {
			return nil, err
		}
		drawn[r.ID] = file
	}
	return drawn, nil
}
