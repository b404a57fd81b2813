package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/section"
	"github.com/weir-bench/weir/internal/store"
)

var formats = map[string]func(io.Writer, *doc.Document) error{
	"text":    func(w io.Writer, d *doc.Document) error { return render.Text(w, d, width()) },
	"html":    render.HTML,
	"md":      render.Markdown,
	"summary": render.Summary,
	"ratios":  render.Ratios,
	"json":    render.JSON,
}

// A reporting is what the flags of weir report say.
type reporting struct {
	format, out, only, figure string
	keep                      bool
}

var reportFormats = []string{"text", "html", "md", "summary", "csv", "ratios", "json", "gobench", "openmetrics", "customBiggerIsBetter", "customSmallerIsBetter"}

func reportCommand() *cobra.Command {
	var f reporting
	c := &cobra.Command{
		Use:   "report DIR...",
		Short: "Write the report of stored results again, or one about several runs",
		Long: `Write the report of stored results again. For a series of runs (weir run --runs),
write the pooled report.

Several directories make one page. Runs of different machines stand side by side;
two of one machine are before and after, with the changes that weir compare finds;
more are a series over time, with what changed between them. The page says which of
these it shows, and why.

--figure draws one chart of the report, or a figure of a document with the published
values (weir figure), as a picture for a talk or a paper.

Other tools read the formats gobench (benchstat), openmetrics (Prometheus, GitLab),
customBiggerIsBetter and customSmallerIsBetter (github-action-benchmark); docs/exports.md
describes them and the columns of csv and ratios.`,
		Example: `  weir report results
  weir report before after -o change.html
  weir report week-*/ -o weeks.html
  weir report results --figure list
  weir report fragmentation --figure thesis-12 -o fragmentation.svg
  weir report results -o report.html
  weir report results --format md --section costs
  weir report results --format csv > results.csv
  weir report results --format ratios > ratios.csv
  weir report results --format gobench | benchstat -col /network -`,
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, as []string) error {
			return f.run(as, c.Flags().Changed("format"), c.Flags().Changed("output"))
		},
	}
	c.Flags().StringVar(&f.format, "format", "text", "text, html, md, summary (Markdown, one line per table), csv (every trial), ratios (as CSV), json, gobench, openmetrics, customBiggerIsBetter or customSmallerIsBetter; with --figure svg; default: that of -o, such as report.html")
	c.Flags().StringVar(&f.figure, "figure", "", "draw this figure alone; list shows their names")
	c.Flags().StringVar(&f.only, "section", "", "write this section alone, such as costs")
	c.Flags().StringVarP(&f.out, "output", "o", "-", "file to write")
	c.Flags().BoolVar(&f.keep, "keep-disturbed", false, "count trials that programs outside the run disturbed like all others")
	_ = c.RegisterFlagCompletionFunc("format", complete(append(slices.Clone(reportFormats), "svg")))
	return c
}

// run writes the report of directories. formatGiven and outGiven say which flags the user gave.
func (f reporting) run(as []string, formatGiven, outGiven bool) (err error) {
	switch {
	case f.figure == "list":
		return listPictures(as, f.keep)
	case f.figure != "":
		if !formatGiven {
			f.format = ""
		}
		if !outGiven {
			f.out = ""
		}
		return drawPicture(as, f.keep, f.figure, f.format, f.out)
	case slices.Contains(pictures, f.format):
		return usage("--format %s needs --figure: --figure list shows the names", f.format)
	}
	if f.format, err = documentFormat(f.format, formatGiven, f.out, reportFormats); err != nil {
		return err
	}
	if len(as) > 1 {
		return writeTogether(as, f.keep, f.format, f.only, f.out)
	}
	if f.only != "" && (f.format == "csv" || f.format == "ratios" || exports[f.format] != nil) {
		return usage("--section does not work with --format %s, which has no sections", f.format)
	}
	runs, err := store.Runs(as[0])
	switch {
	case err != nil:
		if len(newResults(as, false).runs) > 0 {
			err = fmt.Errorf("%w; weir index %s makes a page of the runs below it", err, as[0])
		}
		return usage("cannot read results from %w", err)
	case exports[f.format] != nil:
		return writeExport(runs, f.keep, f.format, f.out)
	case runs[0] != as[0]:
		return f.series(as[0], runs)
	}
	return f.single(as[0])
}

// series writes the pooled report of the runs in a directory.
func (f reporting) series(dir string, runs []string) error {
	switch {
	case f.format == "csv":
		return usage("--format csv needs a single run, such as %s", runs[0])
	case f.only != "":
		return usage("--section needs a single run, such as %s", runs[0])
	}
	page, err := poolSeries(dir, runs, f.keep)
	if err != nil {
		return err
	}
	return writeDocument(page, f.format, f.out)
}

// single writes the report of one run.
func (f reporting) single(dir string) error {
	rep, err := loadInside(dir, f.keep)
	if err != nil {
		return err
	}
	warn(rep.Problems...)
	if f.format == "csv" { // trials, without any analysis
		return writeTo(f.out, func(w io.Writer) error { return render.CSV(w, rep.Results) })
	}
	page := section.Report(rep)
	if known := page.IDs(); f.only != "" && !page.Only(f.only) {
		return usage("the report of %s has no section %q: it has %s", dir, f.only, strings.Join(known, ", "))
	}
	return writeDocument(page, f.format, f.out)
}

// load reads a results directory, complete or not, and analyzes it. With keep, disturbed trials count even if the study
// excludes them.
func load(dir string, keep bool) (*account.Account, error) {
	return read(dir, account.Options{KeepDisturbed: keep})
}

// loadInside is load for reports and figures of one run, which also show what its trials sampled inside their windows.
func loadInside(dir string, keep bool) (*account.Account, error) {
	return read(dir, account.Options{KeepDisturbed: keep, Depth: account.Inside})
}

func read(dir string, o account.Options) (*account.Account, error) {
	// The results of a long run dominate memory until the end; the garbage collector's default
	// would let as much garbage pile up again.
	debug.SetGCPercent(50)
	a, err := account.Read(dir, o)
	return a, exit(exitUsage, err)
}

func warn(problems ...lang.Text) {
	for _, p := range problems {
		say("weir: " + p)
	}
}

// writeTo writes to stdout if out is "" or "-", or else to the file out, whose old content stays until the new one is
// complete.
func writeTo(out string, write func(io.Writer) error) (err error) {
	if out == "" || out == "-" {
		b := bufio.NewWriter(os.Stdout)
		err = cmp.Or(write(b), b.Flush())
	} else {
		var b bytes.Buffer
		replace := func(name string, b []byte) error {
			if err := store.WriteFile(name, b); err != nil {
				return fmt.Errorf("write %s: %w", name, err)
			}
			return nil
		}
		if info, err := os.Lstat(out); err == nil && !info.Mode().IsRegular() { // a device, a pipe, or a link that stays
			replace = func(name string, b []byte) error { return os.WriteFile(name, b, 0o666) }
		}
		if err = write(&b); err == nil {
			err = replace(out, b.Bytes())
		}
	}
	if file := (*fs.PathError)(nil); errors.As(err, &file) {
		err = exit(exitEnvironment, err)
	}
	return err
}

func writeReports(d interface{ File(string, []byte) error }, page *doc.Document) error {
	for _, f := range []string{"html", "md"} {
		var b bytes.Buffer
		if err := formats[f](&b, spoken(page)); err != nil {
			return err
		}
		if err := d.File("report."+f, b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
