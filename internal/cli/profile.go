package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/profile"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/internal/trial"
)

// canProfile fails a run that is to be profiled where nobody can be, before it stores anything.
func canProfile(s study.Study) error {
	if !s.Profile {
		return nil
	}
	if err := profile.Check(local.CPUs()); err != nil {
		return exit(exitEnvironment, fmt.Errorf("cannot profile: %w; or leave out --profile (profile: true in a study), and the rest of the study runs", err))
	}
	return nil
}

// machinesProfile fails a run that is to be profiled on machines of which one refuses.
func machinesProfile(ctx context.Context, s study.Study, site *target.Site) error {
	for _, name := range slices.Sorted(maps.Keys(site.Nodes)) {
		if !s.Profile {
			break
		}
		if err := tryHelper(ctx, site.Nodes[name], "sampler"); err != nil {
			return exit(exitEnvironment, fmt.Errorf("cannot profile %w; log in as root there, or allow sudo without a password; without --profile (profile: true in a study), the rest of the study runs, and the report lacks the CPU time by layer", err))
		}
	}
	return nil
}

// profiler begins to sample the CPUs of a node's machine.
func (r *runner) profiler(ctx context.Context, node target.Node) (trial.Profiler, error) {
	if r.at.Machines == nil {
		return profile.Record(local.CPUs(), false)
	}
	h, err := startHelper(ctx, node, "sampler")
	return sampler{h}, err
}

// A sampler is `weir sampler` on another machine.
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

// samplerCommand samples the CPUs of its machine until its standard input ends, which names a window, and prints the
// samples in it.
func samplerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "sampler",
		Hidden: true,
		Args:   args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return exit(exitEnvironment, sampleMachine(os.Stdin, os.Stdout))
		},
	}
}

func sampleMachine(in io.Reader, out io.Writer) error {
	if err := profile.Check(local.CPUs()); err != nil {
		return local.AsRoot(err, "sampler")
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
	case len(words) == 0: // only whether it works
		return nil
	case errors.Join(err, readErr, noWindow, stopErr) != nil:
		return errors.Join(err, readErr, noWindow, stopErr)
	}
	return p.Write(out)
}

// checkProfile is a line of weir doctor.
func checkProfile() diagnosis {
	c := facts.Check{Name: "profile", OK: true, Detail: "weir run --profile samples the kernel's functions (perf_event_open)"}
	if err := profile.Check(local.CPUs()); err != nil {
		c.OK, c.Detail = false, err.Error()
	}
	return diagnosis{Check: c}
}
