package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/report/doc"
)

func poolCommand() *cobra.Command {
	var format, out string
	var keep, asJSON bool
	names := []string{"text", "html", "md", "summary", "ratios", "json"}
	c := &cobra.Command{
		Use:   "pool DIR…",
		Short: "Pool several runs into one report, whose intervals cover other runs too",
		Long: `Pool runs of one study, cell by cell. The interval of a single run covers only that
run; effects that outlast the run are invisible to it. A pooled interval also covers
differences between runs, and is wide when they are few. Each DIR is a results
directory or a directory of several runs (weir run --runs).`,
		Example: `  weir pool monday tuesday wednesday
  weir pool results -o pooled.html`,
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, as []string) error {
			if asJSON {
				format = "json"
			}
			format, err := documentFormat(format, asJSON || c.Flags().Changed("format"), out, names)
			if err != nil {
				return err
			}
			dirs, err := job.RunDirs(as)
			if err != nil {
				return err
			}
			page, err := job.Pool(dirs, keep)
			if err != nil {
				return err
			}
			return writeDocument(page, format, out)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text, html, md, summary (Markdown, the main tables), ratios (as CSV) or json; default: that of -o, such as pooled.html")
	c.Flags().BoolVar(&asJSON, "json", false, "print machine-readable output (--format json)")
	c.Flags().StringVarP(&out, "output", "o", "-", "file to write")
	c.Flags().BoolVar(&keep, "keep-disturbed", false, "count trials that programs outside the run disturbed like all others")
	_ = c.RegisterFlagCompletionFunc("format", complete(names))
	return c
}

// writeDocument writes a report in a format. See writeTo.
func writeDocument(page *doc.Document, format, out string) error {
	return writeTo(out, func(w io.Writer) error { return formats[format](w, spoken(page)) })
}
