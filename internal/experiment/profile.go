package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/profile"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// profiles is the profile trials of a study. They follow all others, and no other result contains them:
// sampling takes CPU time, on which the results of a study must not depend.
type profiles struct {
	left []study.Trial // without a result, in their order
	done []record.Result
}

// profile runs the profile trials that lack a result.
func (r *run) profile(ctx context.Context) error {
	p, err := r.profiles()
	if err != nil || len(p.left) == 0 {
		return err
	}
	r.profiling = true
	defer func() { r.profiling = false }()
	for i, t := range p.left {
		r.tell(Event{Text: fmt.Sprintf("profile %d of %d: %s over %s", i+1, len(p.left), t.Probe, t.Network)})
		one, err := r.profileTrial(ctx, t)
		if err != nil {
			return err
		}
		if one.Status != record.OK && one.Status != record.Skipped {
			r.tell(Event{Warning: fmt.Sprintf("%s: %s: %s", t.ID, one.Status, one.Reason)})
		}
		p.done = append(p.done, one)
		if err := p.keep(r.Dir); err != nil {
			return err
		}
	}
	return nil
}

// profiles returns the profile trials of the study; none if it asks for none.
func (r *run) profiles() (p profiles, err error) {
	if !r.Study.Profile {
		return p, nil
	}
	b, err := r.stored(store.ProfilesFile)
	if err != nil {
		return p, err
	}
	for one, err := range record.All(bytes.NewReader(b), store.ProfilesFile) {
		if err != nil {
			return p, fmt.Errorf("cannot continue with the profiles: %w; move the file away to take them again", err)
		}
		p.done = append(p.done, *one)
	}
	for b := range profile.Blocks {
		for _, t := range study.Block(r.Study.Seed, b+1, r.cells) {
			t.ID = "profile-" + t.ID
			if !slices.ContainsFunc(p.done, func(one record.Result) bool { return one.Trial == t.ID }) {
				p.left = append(p.left, t)
			}
		}
	}
	return p, nil
}

func (r *run) profileTrial(ctx context.Context, t study.Trial) (record.Result, error) {
	why, err := r.unprofiled(t.Cell)
	if err != nil {
		return record.Result{}, err
	}
	one := skipped(record.Result{Start: time.Now()}, errors.New(why))
	if why == "" {
		rs, err := r.round(ctx, []study.Trial{t})
		if err != nil {
			return record.Result{}, err
		}
		one = rs[0]
	}
	r.complete(t, &one)
	return one, nil
}

// unprofiled returns why a cell has no profile, "" if it has one: only the engine's threads have a clock and
// marks, and other traffic and programs on the same CPUs would be in its samples.
func (r *run) unprofiled(c study.Cell) (string, error) {
	pr, err := r.Probe(c.Probe, c.Levels)
	if err != nil {
		return "", err
	}
	stress, load, err := condition.Background(c.Levels)
	if err != nil {
		return "", err
	}
	clients, err := condition.Clients(c.Levels)
	switch {
	case err != nil:
		return "", err
	case len(pr.Info().Tools) > 0:
		return c.Probe + " is a foreign tool, whose window has no marks: profile a probe of weir's own (weir list probes)", nil
	case stress.Share > 0 || load.Probe != "" || clients > 1:
		return "other programs of the run use the same CPUs: profile an idle level", nil
	}
	return "", nil
}

// keep stores all results anew, so that a kill cannot cut a line.
func (p profiles) keep(d *store.Dir) error {
	var b bytes.Buffer
	for i := range p.done {
		if err := record.Write(&b, &p.done[i]); err != nil {
			return err
		}
	}
	return d.File(store.ProfilesFile, b.Bytes())
}
