package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/profile"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/internal/trial"
)

// canProfile returns an error for a run with a profile where nobody can profile, before the run stores anything.
func canProfile(s study.Study) error {
	if !s.Profile {
		return nil
	}
	if err := profile.Check(local.CPUs()); err != nil {
		return failure.Environment.Errorf("cannot profile: %w; or leave out --profile (profile: true in a study), and the rest of the study runs", err)
	}
	return nil
}

// machinesProfile returns an error for a run with a profile if one of its machines refuses.
func machinesProfile(ctx context.Context, s study.Study, site *target.Site) error {
	for _, name := range slices.Sorted(maps.Keys(site.Nodes)) {
		if !s.Profile {
			break
		}
		if err := tryHelper(ctx, site.Nodes[name], samplerHelper); err != nil {
			return failure.Environment.Errorf("cannot profile %w; log in as root there, or allow sudo without a password; without --profile (profile: true in a study), the rest of the study runs, and the report lacks the CPU time by layer", err)
		}
	}
	return nil
}

// profiler returns the function with which a place samples the CPUs of a node's machine.
func profiler(at place.Place) func(context.Context, target.Node) (trial.Profiler, error) {
	return func(ctx context.Context, node target.Node) (trial.Profiler, error) {
		if at.Machines == nil {
			return profile.Record(local.CPUs(), false)
		}
		h, err := startHelper(ctx, node, samplerHelper)
		return sampler{h}, err
	}
}

// samplerHelper is the command that Sample carries out on another machine.
const samplerHelper = "sampler"

// A sampler is Sample on another machine.
type sampler struct{ *helper }

func (s sampler) Stop(from, to time.Duration) (*profile.Profile, error) {
	b, err := s.stop(fmt.Sprintf("%d %d\n", from, to))
	if err != nil {
		return nil, err
	}
	_, b, _ = bytes.Cut(b, []byte("\n")) // its first line
	p, err := profile.Parse(b)
	if err != nil {
		err = fmt.Errorf("%s: %w", s.node, err)
	}
	return p, err
}

// Sample samples the CPUs of its machine until in ends, and then writes the samples to out, after a first line. The
// content of in names a window: only samples in it are written.
func Sample(in io.Reader, out io.Writer) error {
	if err := profile.Check(local.CPUs()); err != nil {
		return local.AsRoot(err, samplerHelper)
	}
	r, err := profile.Record(local.CPUs(), true)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "sampling")
	words, readErr := io.ReadAll(in)
	var from, to time.Duration
	_, noWindow := fmt.Sscanf(string(words), "%d %d", &from, &to)
	p, stopErr := r.Stop(from, to)
	switch {
	case len(words) == 0: // no window: the caller only checks that sampling works
		return nil
	case errors.Join(err, readErr, noWindow, stopErr) != nil:
		return errors.Join(err, readErr, noWindow, stopErr)
	}
	return p.Write(out)
}
