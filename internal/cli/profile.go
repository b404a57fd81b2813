package cli

import (
	"fmt"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/profile"
	"github.com/weir-bench/weir/internal/report"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/internal/trial"
	"github.com/weir-bench/weir/record"
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

func profiler() (trial.Profiler, error) { return profile.NewRecorder(local.CPUs()) }

// checkProfile is a line of weir doctor.
func checkProfile() diagnosis {
	c := facts.Check{Name: "profile", OK: true, Detail: "weir run --profile samples the kernel's functions (perf_event_open)"}
	if err := profile.Check(local.CPUs()); err != nil {
		c.OK, c.Detail = false, err.Error()
	}
	return diagnosis{Check: c}
}

// profiles reads the samples of the profile trials.
func profiles(dir string, results []record.Result, rep *report.Run) map[string]*profile.Profile {
	all, raw := map[string]*profile.Profile{}, store.OpenRaw(dir)
	for _, r := range results {
		b, err := raw.Read(r.Trial, trial.ProfileFile)
		if err == nil && b != nil {
			all[r.Trial], err = profile.Parse(b)
		}
		if err != nil {
			rep.Problems = append(rep.Problems, fmt.Sprintf("%s of %s: %v", trial.ProfileFile, r.Trial, err))
		}
	}
	if err := raw.Close(); err != nil {
		rep.Problems = append(rep.Problems, err.Error())
	}
	return all
}
