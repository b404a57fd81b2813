package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/report"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/unit"
)

// formats are the ways to write a report.
var formats = map[string]func(*bytes.Buffer, report.Run) error{
	"text":    func(b *bytes.Buffer, r report.Run) error { return report.Text(b, r, width()) },
	"html":    func(b *bytes.Buffer, r report.Run) error { return report.HTML(b, r) },
	"md":      func(b *bytes.Buffer, r report.Run) error { return report.Markdown(b, r) },
	"summary": func(b *bytes.Buffer, r report.Run) error { return report.Summary(b, r) },
	"csv":     func(b *bytes.Buffer, r report.Run) error { return report.CSV(b, r) },
	"json":    func(b *bytes.Buffer, r report.Run) error { return report.JSON(b, r) },
}

func reportCommand() *cobra.Command {
	var format, out string
	var keep bool
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "Make a report again from stored results",
		Example: `  weir report results
  weir report results --format html -o report.html
  weir report results --format csv > results.csv`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, as []string) error {
			write := formats[format]
			if write == nil {
				return usage("unknown format %q; there are csv, html, json, md, summary, text", format)
			}
			rep, err := load(as[0], keep)
			if err != nil {
				return err
			}
			tell(rep.Problems)
			var b bytes.Buffer
			if err := write(&b, rep); err != nil {
				return err
			}
			if out != "" && out != "-" {
				return os.WriteFile(out, b.Bytes(), 0o644)
			}
			_, err = os.Stdout.Write(b.Bytes())
			return err
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text, html, md, summary (Markdown, a line per table), csv or json")
	c.Flags().StringVarP(&out, "output", "o", "-", "file to write")
	c.Flags().BoolVar(&keep, "keep-disturbed", false, "count the trials that programs outside the run disturbed")
	_ = c.RegisterFlagCompletionFunc("format", complete([]string{"text", "html", "md", "summary", "csv", "json"}))
	return c
}

// load reads a results directory, whole or not. keep counts disturbed trials even
// when the study does not.
func load(dir string, keep bool) (report.Run, error) {
	c, err := store.Read(dir)
	if err != nil {
		return report.Run{}, usage("%s holds no results: %w", dir, err)
	}
	rep := report.Run{Name: filepath.Base(dir), Study: c.Study, Results: c.Results, Hosts: c.Hosts, Dir: dir}
	for _, p := range c.Problems {
		rep.Problems = append(rep.Problems, p.Error())
	}
	s, err := study.Load(c.Study, filepath.Join(dir, "study.yaml"))
	if err != nil {
		return rep, exit(exitUsage, err)
	}
	s.KeepDisturbed = s.KeepDisturbed || keep
	rep.Name, rep.Question, rep.Baseline = s.Name, s.Question, s.Baseline
	rep.KeepDisturbed = s.KeepDisturbed
	rep.Seed = strconv.FormatUint(s.Seed, 10)
	rep.Networks, rep.Probes = labels(s.Networks), labels(s.Probes)
	rep.Tools = map[string]report.Tool{}
	for _, u := range s.Probes {
		e := catalog.Probes[u.Kind] // a study of another version may have a probe that is gone
		rep.Tools[u.Name] = report.Tool{Measures: e.Measures, Differs: e.Differs}
	}
	rep.Command = []string{"weir", "run", filepath.Join(dir, "study.yaml")}
	if ranInVM(dir) {
		rep.Command = append(rep.Command, "--in-vm")
	}
	shipped, err := claim.Shipped()
	if err != nil {
		return rep, err
	}
	rep.Analysis = analysis.New(c.Results, analysis.Options{Baseline: s.Baseline, Networks: rep.Networks, Probes: rep.Probes, KeepDisturbed: s.KeepDisturbed})
	rep.Claims = claim.Judge(shipped, s, rep.Analysis)
	for i := range rep.Claims {
		rep.Claims[i].From = dir
	}
	return rep, nil
}

// tell prints what of the results could not be read.
func tell(problems []string) {
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, "weir:", p)
	}
}

func labels(us []study.Use) []string {
	var names []string
	for _, u := range us {
		names = append(names, u.Name)
	}
	return names
}

// writeReports keeps the report beside the results.
func writeReports(d *store.Dir, rep report.Run) error {
	for _, f := range []string{"html", "md"} {
		var b bytes.Buffer
		if err := formats[f](&b, rep); err != nil {
			return err
		}
		if err := d.File("report."+f, b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func compareCommand() *cobra.Command {
	var bound string
	var asJSON bool
	c := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Compare two results directories; exit 1 on a regression",
		Long: `Compare what two runs measured, cell by cell: the ratio after/before with an
interval that holds for all cells together. A cell is a regression when its
whole interval is worse than the bound; then the exit status is 1.`,
		Args: args(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, as []string) error {
			max, err := unit.ParsePercent(bound)
			if err != nil {
				return usage("--max-regression: %w", err)
			}
			var runs [2]report.Run
			for i, dir := range as {
				if runs[i], err = load(dir, false); err != nil {
					return err
				}
				tell(runs[i].Problems)
			}
			cmp := report.Compare(runs[0], runs[1], max)
			if asJSON {
				err = report.CompareJSON(os.Stdout, cmp)
			} else {
				err = report.CompareText(os.Stdout, cmp, width())
			}
			if err != nil {
				return err
			}
			var worse []string
			for _, c := range cmp.Changes {
				if c.Worse {
					worse = append(worse, c.String())
				}
			}
			if len(worse) > 0 {
				return fmt.Errorf("worse by more than %s: %s", bound, strings.Join(worse, "; "))
			}
			return nil
		},
	}
	c.Flags().StringVar(&bound, "max-regression", "0%", "how much worse a cell may surely be")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
