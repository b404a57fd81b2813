package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weir-bench/weir/record"
)

// Contents is the content of a results directory.
type Contents struct {
	Study  []byte // study.yaml; nil when it is missing
	Probes []byte // probes.json; nil when it is missing, as in older runs
	Others []byte // others.json; nil when it is missing
	// Machines is machines.json; nil when the run built its networks.
	Machines []byte
	// Imported is imported.json; nil when a run measured the results.
	Imported []byte
	Results  []record.Result
	Profiles []record.Result   // of the trials that were profiled; Results does not hold them
	Hosts    map[string][]byte // by name
	// Problems lists what could not be read. The rest is complete.
	Problems []error
}

// Read reads a results directory without changing it, even during a run or after one was killed; an
// incomplete last line is then one of the Problems. An error means that dir is not a results
// directory.
func Read(dir string) (Contents, error) {
	c := Contents{}
	study, studyErr := os.ReadFile(filepath.Join(dir, studyFile))
	f, err := os.Open(filepath.Join(dir, resultsFile))
	if err != nil && studyErr != nil {
		return c, fmt.Errorf("%s: not a results directory: %w", dir, errors.Join(studyErr, err))
	}
	c.Study = study
	c.note(studyErr)
	optional := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if !errors.Is(err, fs.ErrNotExist) {
			c.note(err)
		}
		return b
	}
	c.Probes, c.Others, c.Machines, c.Imported = optional(probesFile), optional(othersFile), optional(MachinesFile), optional(importFile)
	if b := optional(ProfilesFile); b != nil {
		profiles, problems := readResults(bytes.NewReader(b), filepath.Join(dir, ProfilesFile))
		c.Profiles = profiles
		c.note(problems...)
	}
	c.note(err)
	if err == nil {
		defer f.Close()
		results, problems := readResults(f, f.Name())
		c.Results = results
		c.note(problems...)
	}
	c.readHosts(filepath.Join(dir, "hosts"))
	return c, nil
}

func (c *Contents) note(errs ...error) {
	for _, err := range errs {
		if err != nil {
			c.Problems = append(c.Problems, err)
		}
	}
}

func (c *Contents) readHosts(dir string) {
	c.Hosts = map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		c.note(err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || strings.HasPrefix(name, ".") {
			continue // foreign, or a file that WriteFile has not finished
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		c.note(err)
		if err == nil {
			c.Hosts[name] = b
		}
	}
}

// readResults reads lines. The first of two lines for one trial counts.
func readResults(r io.Reader, file string) ([]record.Result, []error) {
	var results []record.Result
	var problems []error
	seen := map[string]bool{}
	for res, err := range record.All(r, file) {
		switch {
		case err != nil:
			problems = append(problems, err)
		case seen[res.Trial]:
			problems = append(problems, fmt.Errorf("%s: trial %q occurs twice: the first one counts", file, res.Trial))
		default:
			seen[res.Trial] = true
			results = append(results, *res)
		}
	}
	return results, problems
}
