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
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/job"
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

// reportFormats are those of a report, and of exports for other tools.
var reportFormats = []string{"text", "html", "md", "summary", "csv", "ratios", "json", "gobench", "openmetrics", "customBiggerIsBetter", "customSmallerIsBetter"}

// reportFlags say what to write of results.
type reportFlags struct {
	format, out, only, figure string
	keep                      bool
}

func reportCommand() *cobra.Command {
	var f reportFlags
	c := &cobra.Command{
		Use:   "report [DIR...]",
		Short: "Write the report of stored results again, or one about several runs",
		Long: `Write the report of stored results again. For a series of runs (weir run --runs),
write the pooled report. Without DIR, write that of the newest run in weir-results
and in this directory.

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
  weir report results --section bmwg          # in the terms of the IETF's drafts
  weir report results --format csv > results.csv
  weir report results --format ratios > ratios.csv
  weir report results --format gobench | benchstat -col /network -`,
		RunE: func(c *cobra.Command, as []string) error {
			dirs, err := orNewest(as)
			if err != nil {
				return err
			}
			return f.write(c, dirs)
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

func (f *reportFlags) write(c *cobra.Command, dirs []string) (err error) {
	switch {
	case f.figure == "list":
		return listPictures(dirs, f.keep)
	case f.figure != "":
		return f.draw(c, dirs)
	case slices.Contains(pictures, f.format):
		return usage("--format %s needs --figure: --figure list shows the names", f.format)
	}
	if f.format, err = documentFormat(f.format, c.Flags().Changed("format"), f.out, reportFormats); err != nil {
		return err
	}
	if len(dirs) > 1 {
		return f.together(dirs)
	}
	if f.only != "" && (f.format == "csv" || f.format == "ratios" || exports[f.format] != nil) {
		return usage("--section does not work with --format %s, which has no sections", f.format)
	}
	runs, err := store.Runs(dirs[0])
	if err != nil {
		if !job.NewResults(dirs, false, tell).Empty() {
			err = fmt.Errorf("%w; weir index %s makes a page of the runs below it", err, dirs[0])
		}
		return usage("cannot read results from %w", err)
	}
	switch series := runs[0] != dirs[0]; {
	case exports[f.format] != nil:
		return f.export(runs)
	case series && f.format == "csv":
		return usage("--format csv needs a single run, such as %s", runs[0])
	case series && f.only != "":
		return usage("--section needs a single run, such as %s", runs[0])
	case series:
		page, err := job.Document(dirs, f.keep)
		if err != nil {
			return err
		}
		return writeDocument(page, f.format, f.out)
	}
	return f.one(dirs[0])
}

// draw draws one figure. Without flags, format and file are those of pictures.
func (f *reportFlags) draw(c *cobra.Command, dirs []string) error {
	if !c.Flags().Changed("format") {
		f.format = ""
	}
	if !c.Flags().Changed("output") {
		f.out = ""
	}
	return drawPicture(dirs, f.keep, f.figure, f.format, f.out)
}

// one writes the report of one run, or one section of it.
func (f *reportFlags) one(dir string) error {
	if f.format == "csv" { // trials, without any analysis
		c, trials, err := job.Trials(dir)
		if err != nil {
			return err
		}
		tell.Warn(c.Problems...)
		return writeTo(f.out, func(w io.Writer) error { return render.CSV(w, c.Results, trials) })
	}
	a, err := job.LoadInside(dir, f.keep)
	if err != nil {
		return err
	}
	tell.Warn(a.Problems...)
	page := section.Report(a)
	if known := page.IDs(); f.only != "" && !page.Only(f.only) {
		return usage("the report of %s has no section %q%s", dir, f.only, cmp.Or(meant(f.only, known), ": it has "+strings.Join(known, ", ")))
	}
	return writeDocument(page, f.format, f.out)
}

// together writes one page about the runs of several directories.
func (f *reportFlags) together(dirs []string) error {
	if formats[f.format] == nil || f.format == "ratios" || f.only != "" {
		return usage("--section, and formats other than text, html, md, summary and json, need a single directory, such as %s", dirs[0])
	}
	page, err := job.Together(dirs, f.keep)
	if err != nil {
		return err
	}
	return writeDocument(page, f.format, f.out)
}

// export writes a run, or the runs of a series together.
func (f *reportFlags) export(dirs []string) error {
	runs, err := job.LoadAll(dirs, f.keep, tell)
	if err != nil {
		return err
	}
	return writeTo(f.out, func(w io.Writer) error { return exports[f.format](w, runs) })
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
			replace = foreign.Write
		}
		if err = write(&b); err == nil {
			err = replace(out, b.Bytes())
		}
	}
	if file := (*fs.PathError)(nil); errors.As(err, &file) {
		err = failure.Environment.Of(err)
	}
	return err
}
