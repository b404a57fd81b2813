package job

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/target/local"
)

// resultsDir is where runs go without -o.
const resultsDir = "weir-results"

// open creates the directory of a new run, or opens the directory of the run to resume.
func (r *runner) open() (*store.Dir, error) {
	if r.Resume != "" {
		return r.reopen()
	}
	if r.Study.Seed == 0 {
		r.Study.Seed = rand.Uint64()>>1 + 1
	}
	resolved, err := r.Study.Encode()
	if err != nil {
		return nil, failure.Usage.Of(err)
	}
	r.Dir = r.newDir()
	d, err := store.Create(r.Dir)
	if err != nil {
		return nil, failure.Environment.Of(err)
	}
	if err = d.JSON(store.BegunFile, begun{r.Version, hash(resolved)}); err == nil {
		err = d.JSON("probes.json", catalog.Describe(r.Study))
	}
	if err == nil { // last: a run that has its study can be resumed, and must lack none of these
		err = d.File("study.yaml", resolved)
	}
	if err != nil {
		d.Close()
		return nil, failure.Environment.Errorf("%w: %s, or use another -o", err, store.Remedy(err))
	}
	return d, nil
}

func (r *runner) newDir() string { return NewDir(r.Dir, r.Study.Name) }

// NewDir returns the directory for results: chosen or, if that is "", a name made of the given name and the time.
func NewDir(chosen, name string) string {
	return cmp.Or(chosen, filepath.Join(resultsDir, asFile(name)+"-"+time.Now().Format("20060102-150405")))
}

// MakeDir makes a new directory, named as NewDir names it without a choice. No other process has made it.
func MakeDir(name string) (string, error) {
	first := NewDir("", name)
	if err := os.MkdirAll(filepath.Dir(first), 0o777); err != nil {
		return "", err
	}
	dir := first
	for n := 2; ; n++ {
		if err := os.Mkdir(dir, 0o777); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
		dir = fmt.Sprintf("%s-%d", first, n) // another one began in the same second
	}
}

// asFile makes a plain file name from a name that a study chose, so that it cannot lead to another directory.
func asFile(name string) string {
	safe := strings.Map(func(c rune) rune {
		if c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c)) || strings.ContainsRune("-_.+", c) {
			return c
		}
		return '_'
	}, name)
	return cmp.Or(strings.TrimLeft(safe[:min(len(safe), 64)], "-."), "study")
}

// describe stores the facts of this machine under a name.
func (r *runner) describe(d *store.Dir, name string) error {
	f, err := local.Host().Facts(context.Background()) // at once
	if err != nil {
		return err
	}
	type description struct {
		Weir     string `json:"weir"`     // version of this program
		Rootless bool   `json:"rootless"` // started by an ordinary user
		facts.Facts
	}
	_, err = d.Describe(name, description{r.Version, rootless.Unprivileged(), f}, func(before []byte) bool {
		var had description
		return bounds.JSON(before, &had) == nil && had.Weir == r.Version && had.Kernel == f.Kernel
	})
	return err
}

// A begun is begun.json.
type begun struct {
	Weir  string `json:"weir"`  // version that began the run
	Study string `json:"study"` // SHA-256 of study.yaml, hexadecimal
}

func hash(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

// reopen opens the directory of the run to resume. Its study must be the one with which the run began. Trials
// that were skipped or failed are tried again.
func (r *runner) reopen() (*store.Dir, error) {
	r.Dir = r.Resume
	d, err := store.Open(r.Dir)
	if err != nil {
		return nil, failure.Environment.Of(err)
	}
	was, err := r.recall(d)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	n, err := d.Retry()
	if err != nil {
		return nil, errors.Join(failure.Environment.Of(err), d.Close())
	}
	if r.VM != nil { // the guest says the rest
		return d, nil
	}
	if was.Weir != "" && was.Weir != r.Version {
		r.Tell.Note(lang.T("weir %s began this run, and weir %s continues it: results can differ between versions", was.Weir, r.Version))
	}
	if n > 0 {
		r.Tell.Warn(lang.T("trying again what was skipped or failed: trials: %d", n))
	}
	return d, nil
}

// recall returns what began.json says about the run of d; nothing if an older weir without that file began the run. It
// fails if the study was changed.
func (r *runner) recall(d *store.Dir) (was begun, err error) {
	b, err := d.ReadFile(store.BegunFile)
	older := errors.Is(err, fs.ErrNotExist)
	if err == nil {
		err = bounds.JSON(b, &was)
	}
	if err != nil && !older {
		return was, failure.Usage.Errorf("%s: %w; remove the file to continue without it", filepath.Join(r.Dir, store.BegunFile), err)
	}
	yaml, err := d.ReadFile("study.yaml")
	if gone := d.OrGone(err); errors.Is(gone, store.ErrGone) {
		return was, r.stopped(gone)
	}
	if err == nil && !older && hash(yaml) != was.Study {
		file := filepath.Join(r.Dir, "study.yaml")
		err = fmt.Errorf("%s was changed after the run began, and its results would be of two studies; restore it, or begin a run of the new one: weir run %s -o DIR", file, plan.ShellWord(file))
	}
	return was, failure.Usage.Of(err)
}
