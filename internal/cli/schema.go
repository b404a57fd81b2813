package cli

import (
	"encoding/json"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/schema"
)

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [NAME]",
		Short: "Print the JSON Schema of what weir writes",
		Long: `Print the JSON Schema (draft 2020-12) of a document that weir writes. Without
arguments, list the schemas.

Within a version, the "format" of a document, keys are only added, and no key
changes its meaning, unit or type. A reader that ignores unknown keys reads what every
later weir of the same version writes. A document without "format" has version 1.`,
		Example: `  weir schema
  weir schema result`,
		Args:              args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: complete(schemaNames()),
		RunE: func(_ *cobra.Command, as []string) error {
			if len(as) == 0 {
				return listSchemas()
			}
			b, err := fs.ReadFile(schema.FS, as[0]+".json")
			if err != nil {
				return usage("unknown schema %q: want %s", as[0], strings.Join(schemaNames(), ", "))
			}
			_, err = os.Stdout.Write(b)
			return err
		},
	}
}

func schemaNames() []string {
	files, _ := fs.Glob(schema.FS, "*.json") // the pattern is a constant
	for i := range files {
		files[i] = strings.TrimSuffix(files[i], ".json")
	}
	return files
}

func listSchemas() error {
	var rows [][]lang.Text
	for _, name := range schemaNames() {
		b, err := fs.ReadFile(schema.FS, name+".json")
		if err != nil {
			return err
		}
		var s struct{ Title string }
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		rows = append(rows, []lang.Text{lang.Text(name), lang.Stored(s.Title)})
	}
	return printColumns(os.Stdout, rows)
}
