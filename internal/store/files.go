package store

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// kept are the files and directories that results consist of. Reports and logs of weir are not: commands write the former
// again, and the latter hold nothing that was measured.
var kept = []string{studyFile, probesFile, "blocks.json", "again.json", "capacity.json", othersFile, MachinesFile, ProfilesFile, BegunFile,
	importFile, resultsFile, runsFile, "hosts", "plans", rawDir, logsDir}

// Files lists what the results in dir, a run or a series, consist of, sorted, as slash-separated paths below dir. What is
// neither a regular file nor a directory there is an error.
func Files(dir string) (all []string, err error) {
	runs, err := Runs(dir)
	if err != nil {
		return nil, err
	}
	if runs[0] != dir {
		all = append(all, runsFile)
	}
	for _, run := range runs {
		below, err := filepath.Rel(dir, run)
		if err != nil {
			return nil, err
		}
		for _, name := range kept {
			if all, err = filesBelow(all, dir, path.Join(filepath.ToSlash(below), name)); err != nil {
				return nil, err
			}
		}
		// Runs that can refute a statement have directories of their own.
		tests, _ := filepath.Glob(filepath.Join(run, "tests", "*", studyFile))
		for _, test := range tests {
			of, err := Files(filepath.Dir(test))
			if err != nil {
				return nil, err
			}
			for _, f := range of {
				all = append(all, path.Join(filepath.ToSlash(below), "tests", filepath.Base(filepath.Dir(test)), f))
			}
		}
		if all, err = filesBelow(all, dir, path.Join(filepath.ToSlash(below), "tests", "verdicts.json")); err != nil {
			return nil, err
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// filesBelow adds a file, or those of a directory. Hidden ones come from writes that were cut off.
func filesBelow(all []string, dir, name string) ([]string, error) {
	at := filepath.Join(dir, filepath.FromSlash(name))
	if _, err := os.Lstat(at); err != nil {
		return all, nil
	}
	err := filepath.WalkDir(at, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(d.Name(), "."):
			return nil
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s: not a regular file (%v); copy its content into one", file, d.Type())
		}
		rel, err := filepath.Rel(dir, file)
		all = append(all, filepath.ToSlash(rel))
		return err
	})
	return all, err
}
