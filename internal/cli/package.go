package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
)

// packageFlags say what to package, or what to check.
type packageFlags struct {
	out, check, sum   string
	programs, authors []string
}

func packageCommand() *cobra.Command {
	var f packageFlags
	c := &cobra.Command{
		Use:   "package [DIR...]",
		Short: "Package results with all that it takes to measure them again",
		Long: `Write an archive of results: studies, raw bytes, facts of the machines, this program,
what the results claim, license, CITATION.cff, RO-Crate metadata and checksums. DIR is
a run, a series, or a directory of them, such as that of weir reproduce. Without DIR,
it is the newest run. Equal results make equal archives.

Whoever gets it unpacks it and runs ./reproduce, which needs Linux and nothing else, or
weir reproduce ARCHIVE: it checks every byte, measures again, and says claim by claim
what still holds and how the machines differ. A claim of a package is the direction
of a ratio whose whole interval lies on one side of 1.

--check reads an archive, or the directory of an unpacked one, and names the file that
somebody changed.`,
		Example: `  weir package results -o results.tar.gz --author "A. Author"
  weir package results --program arm64=weir-linux-arm64     # for machines of both architectures
  weir package --check results.tar.gz
  weir package --check results.tar.gz --sum SHA256          # as published, next to the citation`,
		RunE: func(c *cobra.Command, as []string) error { return f.run(c.Context(), as) },
	}
	c.Flags().StringVarP(&f.out, "output", "o", "", "archive to write (default DIR.tar.gz, in this directory)")
	c.Flags().StringVar(&f.check, "check", "", "check this archive instead of writing one")
	c.Flags().StringVar(&f.sum, "sum", "", "with --check: the SHA-256 of the list that its authors published; without it, a change of both a file and the list goes unnoticed")
	c.Flags().StringArrayVar(&f.programs, "program", nil, "add weir for another architecture, such as arm64: ARCH=FILE")
	c.Flags().StringArrayVar(&f.authors, "author", nil, "who measured, for CITATION.cff; repeatable")
	_ = c.MarkFlagFilename("check")
	return c
}

func (f *packageFlags) run(ctx context.Context, as []string) error {
	if f.check != "" {
		if len(as) > 0 || f.out != "" || f.programs != nil || f.authors != nil {
			return usage("--check reads one package, and works with no other flag or argument")
		}
		c, err := job.CheckPackage(f.check, f.sum)
		if err != nil {
			return err
		}
		fmt.Println(said(lang.T("%s: all %d files are as listed; SHA-256 of the list: %s", f.check, len(c.Files), c.Sum)))
		return nil
	}
	if f.sum != "" {
		return usage("--sum is what a package was published with: it needs --check")
	}
	dirs, err := orNewest(as)
	if err != nil {
		return err
	}
	programs, err := parsePrograms(f.programs)
	if err != nil {
		return err
	}
	if f.out == "" {
		at, err := filepath.Abs(dirs[0])
		if err != nil {
			return err
		}
		f.out = strings.TrimLeft(filepath.Base(at), ".-/") + ".tar.gz"
	}
	p, err := job.WritePackage(ctx, job.PackageOptions{Tell: tell, Dirs: dirs, File: f.out, Programs: programs, Authors: f.authors})
	if err != nil {
		return err
	}
	fmt.Println(said(lang.T("%s: %d files, claims: %d (published: %d); SHA-256 of the list: %s", f.out, p.Files, p.Claims, p.Published, p.Sum)))
	fmt.Println(said(lang.T("measure again with: weir reproduce %s", shellWord(f.out))))
	return nil
}
