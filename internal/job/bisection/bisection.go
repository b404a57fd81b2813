// Package bisection is what weir bisect does: it builds and measures the candidates that package bisect chooses, and keeps
// the state of the search after each comparison.
//
// It must not decide what to compare next, or what is to blame.
package bisection

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/bisect"
	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
)

// Options say which commits to search, and how to build and measure them.
type Options struct {
	job.Caller
	Study        study.Study    // of one network and one probe
	Guests       *bisect.Guests // a search among kernels
	Nodes        *bisect.Nodes  // a search between nodes of the study's cluster; if both are nil, among commits: see the next five fields
	Repo         string         // a directory in the git repository
	Good, Bad    string         // commits, as git names them
	Build        []string       // command; {programs} in it is where the programs go
	BuildTimeout time.Duration
	Certainty    float64   // probability at which the search ends
	Least        float64   // smallest change to find, a share
	Dir          string    // for the state and the results; "": one named after the time
	Resume       string    // directory of a search to continue, which has all of the above
	Output       io.Writer // what the runs print meanwhile
}

// The files in the directory of a search.
const (
	stateFile = "bisect.json"
	studyFile = "bisect.yaml"
	pageFile  = "bisect.html"

	comparisonsDir = "comparisons"
	programsDir    = "programs"
)

// mostSteps ends a search that its comparisons do not decide.
const mostSteps = 100

// A bisection is a running search among commits or kernels, or between nodes.
type bisection struct {
	Options
	out    bisect.Outcome
	search *bisect.Search
	lock   *os.File // keeps other searches out of Dir
	// guest completes a run with a kernel; inGuest outside of tests.
	guest func(ctx context.Context, dir string, k bisect.Kernel) (*account.Account, error)
	// nodes completes a run on nodes; onNodes outside of tests.
	nodes func(ctx context.Context, dir string, g bisect.Group) (*account.Account, error)
}

// Run searches for the commit or the kernel that changed what a study measures, or finds out whether groups of nodes
// differ in it. It also returns the file of its page. It stores every comparison; after an error, the same search can
// continue.
func Run(ctx context.Context, o Options) (out bisect.Outcome, page string, err error) {
	b := bisection{Options: o}
	b.guest, b.nodes = b.inGuest, b.onNodes
	defer func() { b.lock.Close() }()
	if err := b.begin(ctx); err != nil {
		if ctx.Err() != nil { // whatever a git that was killed seems to say
			err = context.Cause(ctx)
		}
		return out, "", err
	}
	defer b.leave()
	if err := b.loop(ctx); err != nil {
		if ctx.Err() != nil {
			b.Tell.Warn(lang.T("%d comparisons kept in %s; continue with: %s", len(b.out.Steps), b.Dir, b.again()))
			return out, "", context.Cause(ctx)
		}
		return out, "", err
	}
	return b.out, filepath.Join(b.Dir, pageFile), nil
}

func (b *bisection) again() string {
	among := "commits"
	switch {
	case b.Guests != nil:
		among = "kernels"
	case b.Nodes != nil:
		among = "nodes"
	}
	return "weir bisect " + among + " --resume " + plan.ShellWord(b.Dir)
}

// begin creates the directory of a search, or reads the directory of a search to continue.
func (b *bisection) begin(ctx context.Context) error {
	old, err := b.stored()
	switch {
	case b.Resume != "" && errors.Is(err, fs.ErrNotExist):
		return failure.Usage.Errorf("nothing to resume: %w", err)
	case b.Resume != "" && err == nil:
		b.Repo, b.Build, b.Guests, b.Nodes, b.Certainty, b.Least = old.Repo, old.Build, old.Guests, old.Nodes, old.Certainty, old.Least
		b.out = old
	case err == nil:
		err = b.same(ctx, old)
	case errors.Is(err, fs.ErrNotExist):
		err = b.create(ctx)
	}
	if err == nil {
		b.Study, err = b.study()
	}
	if err != nil {
		return err
	}
	b.sweep()
	b.search = b.out.Search()
	return b.save()
}

// stored reads the search that the directory holds, and locks it; fs.ErrNotExist without one.
func (b *bisection) stored() (old bisect.Outcome, err error) {
	if b.Dir = cmp.Or(b.Dir, b.Resume); b.Dir == "" {
		return old, fs.ErrNotExist
	}
	if b.Dir, err = filepath.Abs(b.Dir); err != nil {
		return old, err
	}
	if _, err = os.Stat(filepath.Join(b.Dir, stateFile)); err != nil {
		return old, err
	}
	if b.lock, err = store.Lock(b.Dir); err != nil {
		return old, failure.Environment.Of(err)
	}
	return readBisection(b.Dir)
}

func (b *bisection) study() (study.Study, error) {
	file := filepath.Join(b.Dir, studyFile)
	src, err := foreign.ReadFile(file, bounds.MaxFile)
	if err != nil {
		return study.Study{}, failure.Environment.Of(err)
	}
	s, err := study.Load(src, file)
	return s, failure.Usage.Of(err)
}

func readBisection(dir string) (out bisect.Outcome, err error) {
	b, err := foreign.ReadFile(filepath.Join(dir, stateFile), bounds.MaxFile)
	if err == nil {
		err = bounds.JSON(b, &out)
	}
	if err == nil && (out.Format != bisect.Format || len(out.Commits) == 0) {
		err = failure.Usage.Errorf("%s has format %d and %d commits: want format %d, and a commit or more", filepath.Join(dir, stateFile), out.Format, len(out.Commits), bisect.Format)
	}
	if n := len(out.Commits); err == nil && (out.Guests != nil && len(out.Guests.Kernels) != n+1 || out.Nodes != nil && n != 1) {
		err = failure.Usage.Errorf("%s has %d candidates, and kernels or nodes of another number: it is damaged; begin another search with another -o", filepath.Join(dir, stateFile), n+1)
	}
	return out, err
}

// same continues the search in the directory, if it is the one that the options ask for.
func (b *bisection) same(ctx context.Context, old bisect.Outcome) error {
	asked, err := b.asked(ctx)
	if err != nil {
		return err
	}
	src, err := b.Study.Encode()
	if err != nil {
		return failure.Usage.Of(err)
	}
	stored, err := foreign.ReadFile(filepath.Join(b.Dir, studyFile), bounds.MaxFile)
	if err != nil {
		return failure.Environment.Of(err)
	}
	what := func(o bisect.Outcome, src []byte) string {
		return fmt.Sprintf("%q %s %s %q %s %g %g %s", o.Repo, o.Good, o.Bad, o.Build, sidesOf(o), o.Certainty, o.Least, src)
	}
	switch same := what(old, stored) == what(asked, src); {
	case !same && len(old.Steps) == 0: // it compared nothing, for example because the build command was wrong
		if err := errors.Join(os.RemoveAll(filepath.Join(b.Dir, programsDir)), os.RemoveAll(filepath.Join(b.Dir, comparisonsDir))); err != nil {
			return failure.Environment.Of(err)
		}
		return b.create(ctx)
	case !same:
		return failure.Usage.Errorf("%s holds another search, from %s to %s; use another -o, or continue it with %s", b.Dir, old.Name(old.Good), old.Name(old.Bad), b.again())
	}
	b.Repo, b.out = old.Repo, old
	return nil
}

func (b *bisection) create(ctx context.Context) error {
	var err error
	if b.out, err = b.asked(ctx); err != nil {
		return err
	}
	b.Repo = b.out.Repo
	src, err := b.Study.Encode()
	if err != nil {
		return failure.Usage.Of(err)
	}
	if b.Dir == "" {
		if b.Dir, err = job.MakeDir("bisect"); err == nil {
			b.Dir, err = filepath.Abs(b.Dir)
		}
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(b.Dir, comparisonsDir), 0o777)
	}
	if err == nil && b.lock == nil {
		b.lock, err = store.Lock(b.Dir)
	}
	if err != nil {
		return failure.Environment.Of(err)
	}
	return failure.Environment.Of(store.WriteFile(filepath.Join(b.Dir, studyFile), src))
}

// loop builds and compares until the search is done.
func (b *bisection) loop(ctx context.Context) error {
	for {
		base, other, done := b.search.Next(b.Certainty)
		if done || len(b.out.Steps) >= mostSteps {
			b.out.Settle(b.search, done)
			return b.save()
		}
		ready, err := b.buildBoth(ctx, base, other)
		if err == nil && ready {
			err = b.compare(ctx, base, other)
		}
		if err == nil {
			b.out.Settle(b.search, false)
			err = b.save()
		}
		if err != nil {
			return err
		}
	}
}

// buildBoth builds two candidates, unless they are kernels or nodes. It returns false if one cannot be built, which is skipped then.
func (b *bisection) buildBoth(ctx context.Context, candidates ...int) (bool, error) {
	for _, i := range candidates {
		switch {
		case b.Nodes != nil:
			continue
		case b.Guests != nil:
			if err := unchanged(b.out.Guests.Kernels[i]); err != nil {
				return false, err
			}
			continue
		}
		why, err := b.build(ctx, i)
		if err == nil && why == "" {
			why, err = b.unused(i)
		}
		if err != nil {
			return false, err
		}
		if why != "" {
			return false, b.skip(i, why)
		}
	}
	return true, nil
}

// skip leaves a candidate out, unless nothing is left to search without it.
func (b *bisection) skip(candidate int, why string) error {
	name := b.out.Name(b.out.Hash(candidate))
	if candidate == 0 || candidate == len(b.out.Commits) {
		end := "GOOD"
		if candidate > 0 {
			end = "BAD"
		}
		return failure.Environment.Errorf("%s, %s, cannot be measured, so there is nothing to compare with: %s; see %s", end, name, why, b.Dir)
	}
	b.Tell.Warn(lang.T("%s is skipped: %s", name, why))
	b.out.Commits[candidate-1].Skipped = why
	b.search.Skip(candidate)
	return nil
}

// save writes the state and the page.
func (b *bisection) save() error {
	j, err := json.MarshalIndent(b.out, "", "  ")
	if err == nil {
		err = store.WriteFile(filepath.Join(b.Dir, stateFile), append(j, '\n'))
	}
	if err == nil && len(b.out.Steps) > 0 {
		err = b.writePage()
	}
	if err != nil {
		err = fmt.Errorf("%w: %s, then %s", err, store.Remedy(err), b.again())
	}
	return failure.Environment.Of(err)
}

// leave removes what only a running search needs.
func (b *bisection) leave() { b.removeTree() }

func (b *bisection) names(candidates ...int) (out []string) {
	for _, i := range candidates {
		out = append(out, b.out.Name(b.out.Hash(i)))
	}
	return out
}
