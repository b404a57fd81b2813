package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/export"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/store"
)

// citeFlags say how a paper names a run.
type citeFlags struct {
	prefix, out, packed string
	keep                bool
}

func citeCommand() *cobra.Command {
	var f citeFlags
	c := &cobra.Command{
		Use:   "cite [DIR]",
		Short: "Write BibTeX, and a LaTeX macro for each number of a run",
		Long: `Write a file for LaTeX and BibTeX: a macro for each number of a run or a series of
runs, so that the text of a paper always has the numbers of its data, and the
entries weir and weir-run. Without DIR, they are those of the newest run.

A paper takes the file with the command input, and names it as its bibliography;
weirBridgeTcpStreamThroughputText is then a macro. docs/exports.md has an example.

A name is the prefix, the network, the probe, the levels of factors and the value,
in letters. After it, Low and High are the ends of the interval, Unit is the unit,
Ratio the ratio to the baseline with ends of its own, and Text all of a number.
A number that the run does not have has no macro: LaTeX then stops. The macro
weirRunChecksum names the results; docs/exports.md says how to check it. With
--package, weirPackageChecksum and the entry weir-run name the archive that readers
measure again; it has to have these very results.`,
		Example: `  weir cite results -o weir.bib
  weir cite after -o after.bib --prefix after
  weir cite results --package results.tar.gz -o weir.bib
  weir cite results | diff weir.bib -       # is the paper's file of this run?`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, as []string) error {
			dirs, err := orNewest(as)
			if err != nil {
				return err
			}
			return f.cite(dirs[0])
		},
	}
	c.Flags().StringVar(&f.prefix, "prefix", "weir", "letters with which all macros and keys begin; a paper about several runs needs several")
	c.Flags().StringVarP(&f.out, "output", "o", "-", "file to write")
	c.Flags().StringVar(&f.packed, "package", "", "also name this package of the results by its SHA-256")
	c.Flags().BoolVar(&f.keep, "keep-disturbed", false, "count trials that programs outside the run disturbed like all others")
	_ = c.MarkFlagFilename("package")
	return c
}

func (f *citeFlags) cite(dir string) error {
	if f.prefix == "" || strings.Trim(strings.ToLower(f.prefix), "abcdefghijklmnopqrstuvwxyz") != "" {
		return usage("--prefix %q: want letters from a to z: names of macros in LaTeX have no others", f.prefix)
	}
	dirs, err := store.Runs(dir)
	if err != nil {
		return usage("cannot read results from %w", err)
	}
	runs, err := job.LoadAll(dirs, f.keep, tell)
	if err != nil {
		return err
	}
	sum, err := store.Sum(dir)
	if err != nil {
		return failure.Usage.Of(err)
	}
	cited := export.Citation{Prefix: f.prefix, Sum: sum}
	if f.packed != "" {
		if cited.Package, err = job.PackageOf(f.packed, dir); err != nil {
			return err
		}
	}
	return writeTo(f.out, func(w io.Writer) error { return cited.Write(w, runs) })
}
