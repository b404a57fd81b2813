// Packaging writes the files of a release that come from the program: `packaging docs VERSION DIR` writes a manual
// page for each command in DIR/man, and the completions of bash, zsh and fish in DIR/completions; `packaging sbom
// VERSION PROGRAM` lists what a program was built from (SBOM). It is a program of its own because weir needs
// none of this, nor the libraries for it, to run.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra/doc"

	"github.com/weir-bench/weir/internal/cli"
)

func main() {
	if len(os.Args) != 4 || os.Args[1] != "docs" && os.Args[1] != "sbom" {
		fmt.Fprintln(os.Stderr, "usage: packaging docs VERSION DIR, or packaging sbom VERSION PROGRAM")
		os.Exit(2)
	}
	version, place := os.Args[2], os.Args[3]
	err := error(nil)
	if os.Args[1] == "docs" {
		err = writeDocs(version, place)
	} else {
		err = writeSBOM(os.Stdout, version, place)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

// writeDocs writes manual pages and completions below dir. The pages have the date of SOURCE_DATE_EPOCH, if that is set.
func writeDocs(version, dir string) error {
	man, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	if err := errors.Join(os.MkdirAll(man, 0o777), os.MkdirAll(completions, 0o777)); err != nil {
		return err
	}
	weir := cli.Command(version)
	weir.DisableAutoGenTag = true
	return errors.Join(
		doc.GenManTree(weir, &doc.GenManHeader{Section: "1", Source: "weir " + version, Manual: "weir"}, man),
		weir.GenBashCompletionFileV2(filepath.Join(completions, "weir.bash"), true),
		weir.GenZshCompletionFile(filepath.Join(completions, "_weir")),
		weir.GenFishCompletionFile(filepath.Join(completions, "weir.fish"), true),
	)
}
