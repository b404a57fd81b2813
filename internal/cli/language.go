package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/cli/progress"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/doc"
)

// language is the language of everything that this process prints and stores for people; nil is English. Errors, help
// and what programs read are always English (docs/adr/0055).
var language *lang.Language

// speak chooses the language by --lang, or else by the environment.
func speak(c *cobra.Command) (err error) {
	tag, _ := c.Flags().GetString("lang")
	if tag == "" {
		language = lang.Of(os.Getenv)
		return nil
	}
	if language, err = lang.Named(tag); err != nil {
		return usage("--lang: %w", err)
	}
	return nil
}

// spoken is a document in the language of this process.
func spoken(d *doc.Document) *doc.Document {
	d.Lang = language
	return d
}

// said is a text in the language of this process.
func said(t lang.Text) string { return t.In(language) }

// A console tells the user what goes on, on stderr and in the language of this process.
type console struct{}

// Say prints a line about the whole command.
func (console) Say(t lang.Text) { fmt.Fprintln(os.Stderr, foreign.Text(said(t))) }

// Warn prints a line for each problem.
func (c console) Warn(problems ...lang.Text) {
	for _, p := range problems {
		c.Say("weir: " + p)
	}
}

// Note prints a line about something that the user may not expect.
func (c console) Note(t lang.Text) { c.Warn(lang.T("note: %s", t)) }

var tell lang.Teller = console{}

// caller is the user of this process.
func caller(version string) job.Caller {
	return job.Caller{Version: version, Lang: language, Tell: tell, Show: func(s job.Shown) job.Progress { return progress.New(os.Stderr, language, s) }}
}

// printColumns prints rows in columns, in the language of this process.
func printColumns(w io.Writer, rows [][]lang.Text) error {
	_, err := io.WriteString(w, language.Table(rows))
	return err
}
