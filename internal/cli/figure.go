package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/report/published"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/study"
)

// A drawing repeats figures.
type drawing struct {
	figures                   []figure.Figure
	from                      []string
	dir                       string // for the results of each study
	out                       string
	format                    string // of the pictures, as stated
	spread                    string
	look                      figure.Look
	all, fast, keep, json, md bool
	form                      study.Study // blocks and durations that replace those of each study
	given                     []string    // the flags that set form and vm, as the user wrote them
	vm                        vmFlags
}

func figureCommand(version string) *cobra.Command {
	var d drawing
	c := &cobra.Command{
		Use:   "figure [FIGURE…]",
		Short: "Repeat the figures and tables of published documents, and draw them",
		Long: `Run the study behind a figure or table of one of the five documents that weir
repeats, draw it with the published numbers as open diamonds, and compare the two.
Without arguments, list the figures.

A value of another machine is only a mark: weir compares ratios, and its verdicts
are those of the claims. The figure's own data decide some; a line names the command
that measures the others (weir reproduce). A network or tool that is missing is left
out of the picture; the exit status is 3 if nothing could be measured.

--results DIR keeps the results of each study in a subdirectory and measures only
what is missing there. --from DIR measures nothing. --blocks and --duration measure in
the form of a source, such as 20 times 120 s; --in-vm measures in a virtual machine,
for features that this machine's kernel lacks.`,
		Example: `  weir figure
  weir figure thesis-14 --fast
  weir figure thesis-14 --blocks 20 --duration 120s
  weir figure thesis-veth --fast --in-vm
  weir figure thesis-12 --from weir-results/all -o thesis-12.svg
  weir figure thesis-11 --from weir-results/all --spread sd --absolute
  weir figure --all --fast --results weir-results/all -o pictures/`,
		ValidArgsFunction: func(c *cobra.Command, as []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			fs, _ := figure.Shipped() // a mistake in the files is reported when they are used
			return complete(figureIDs(fs))(c, as, toComplete)
		},
		RunE: func(c *cobra.Command, as []string) error {
			shipped, err := figure.Shipped()
			if err != nil {
				return err
			}
			if err := d.check(c, as); err != nil {
				return err
			}
			if len(as) == 0 && !d.all {
				return listFigures(shipped, d.json)
			}
			if err := d.choose(shipped, as); err != nil {
				return err
			}
			return d.run(c.Context(), version)
		},
	}
	d.register(c)
	return c
}

// formFlags say in which form, and where, studies are measured.
var formFlags = []string{"blocks", "duration", "in-vm", "kernel", "vm-cpus", "vm-memory"}

func (d *drawing) register(c *cobra.Command) {
	c.Flags().BoolVar(&d.all, "all", false, "draw every figure")
	c.Flags().BoolVar(&d.fast, "fast", false, "use the fast form of each study: few blocks, short windows, wide intervals")
	c.Flags().StringArrayVar(&d.from, "from", nil, "results directory, or directory of several runs, to draw instead of measuring; repeatable")
	c.Flags().StringVar(&d.dir, "results", "", "directory for the results of each study (default weir-results/figure-TIME)")
	c.Flags().StringVarP(&d.out, "output", "o", "", "file for the picture, or directory for several (default FIGURE.svg)")
	c.Flags().StringVar(&d.format, "format", "", "svg, of which rsvg-convert makes png and pdf")
	c.Flags().StringVar(&d.spread, "spread", "interval", "interval: median and interval; sd: mean and standard deviation")
	c.Flags().BoolVar(&d.look.Absolute, "absolute", false, "draw values in their unit instead of ratios")
	c.Flags().IntVar(&d.form.Blocks, "blocks", 0, "passes through all cells (default: those of each study)")
	c.Flags().DurationVar(&d.form.Duration, "duration", 0, "length of each measurement (default: that of each study)")
	d.vm.register(c)
	c.Flags().BoolVar(&d.keep, "keep-disturbed", false, "count trials that programs outside the run disturbed like all others")
	c.Flags().BoolVar(&d.json, "json", false, "print JSON")
	c.Flags().BoolVar(&d.md, "md", false, "print a Markdown table with a row for each figure")
	_ = c.MarkFlagDirname("results")
	_ = c.MarkFlagDirname("from")
}

func (d *drawing) check(c *cobra.Command, as []string) error {
	for _, name := range formFlags {
		if g := c.Flags().Lookup(name); g.Changed {
			d.given = append(d.given, "--"+name+"="+g.Value.String())
		}
	}
	if !d.vm.in {
		if err := d.vm.refuse(c); err != nil {
			return err
		}
	}
	switch {
	case d.spread != "interval" && d.spread != "sd":
		return usage("--spread %q: want interval or sd", d.spread)
	case d.json && d.md:
		return usage("--json and --md cannot be combined")
	case d.all && len(as) > 0:
		return usage("--all draws every figure; it cannot be combined with names of figures")
	case d.from != nil && (d.dir != "" || d.fast || d.given != nil):
		return usage("--from draws existing results; it cannot be combined with --results, --fast, --blocks, --duration or --in-vm")
	}
	return nil
}

// choose decides what to draw, and how.
func (d *drawing) choose(shipped []figure.Figure, names []string) (err error) {
	d.look.SD = d.spread == "sd"
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
	return nil
}

// oneFile reports whether out is a file, not a directory.
func (d *drawing) oneFile() bool {
	return d.out == "-" || filepath.Ext(d.out) == ".svg"
}

// run measures what the figures lack, and draws them.
func (d *drawing) run(ctx context.Context, version string) error {
	if d.from != nil {
		return d.draw(job.NewResults(d.from, d.keep, tell))
	}
	var dirs []string
	if d.dir != "" {
		dirs = []string{d.dir}
	}
	have := job.NewResults(dirs, d.keep, tell)
	lack := slices.DeleteFunc(slices.Clone(d.figures), func(f figure.Figure) bool { return !f.Measured() || have.Holds(f) })
	if len(lack) == 0 {
		return d.draw(have)
	}
	measure := func() error {
		d.dir = job.NewDir(d.dir, "figure")
		o := job.FigureOptions{Caller: caller(version), Figures: lack, Dir: d.dir, Fast: d.fast, Keep: d.keep, ResumeCmd: d.again(), Form: d.reform}
		if d.vm.in && job.GuestKind() == "" {
			o.VM = &job.VM{Machine: d.vm.machine, Stdout: os.Stderr, Stderr: os.Stderr}
		}
		if err := job.MeasureFigures(ctx, o); err != nil {
			return err
		}
		return d.draw(job.NewResults([]string{d.dir}, d.keep, tell))
	}
	if d.vm.in { // it has a lab of its own
		return measure()
	}
	return place.Lab.Enter(ctx, measure)
}

// reform gives a study the blocks and the duration that the flags state.
func (d *drawing) reform(s *study.Study) {
	s.Blocks, s.Duration = cmp.Or(d.form.Blocks, s.Blocks), cmp.Or(d.form.Duration, s.Duration)
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
	argv = append(argv, d.given...)
	if shipped, err := figure.Shipped(); err == nil && len(shipped) == len(d.figures) {
		return strings.Join(append(argv, "--all"), " ")
	}
	return strings.Join(append(argv, figureIDs(d.figures)...), " ")
}

// draw writes the pictures of the figures that the results hold, and prints all.
func (d *drawing) draw(from *job.Results) error {
	var out []figure.Result
	measured := false
	for _, f := range d.figures {
		r, err := from.Figure(f)
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
			if err = d.others(r); err != nil {
				return err
			}
		}
	}
	if err == nil && !measured {
		return failure.Environment.Errorf("nothing was measured: %s", from.Nothing(d.figures))
	}
	return err
}

// others prints the command for the verdicts that the figure's data cannot give.
func (d *drawing) others(r figure.Result) error {
	if r.From == "" || r.Untested == nil {
		return nil
	}
	takes, err := job.TestTime(r.Untested, d.fast)
	argv := []string{"weir", "reproduce"}
	if d.fast {
		argv = append(argv, "--fast")
	}
	fmt.Println(said(lang.T("verdicts that other studies give, %s: %s", job.About(takes), strings.Join(append(argv, r.Untested...), " "))))
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
			tell.Warn(lang.T("figure %s: %v", r.ID, err))
			continue
		}
		file := d.out
		if len(d.figures) > 1 || !d.oneFile() {
			if file != "" {
				if err := os.MkdirAll(file, 0o755); err != nil {
					return nil, failure.Environment.Of(err)
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
