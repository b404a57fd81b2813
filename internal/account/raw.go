package account

import (
	"crypto/sha256"
	"slices"

	"github.com/weir-bench/weir/internal/analysis/timeline"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/packettrace"
	"github.com/weir-bench/weir/internal/profile"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/trial"
	"github.com/weir-bench/weir/record"
)

// readRaw reads what the trials observed, the settings that held and, with inside, what they sampled inside their
// windows. Older runs lack some of it, and trials of less than a second have no samples.
func (c *Contents) readRaw(inside bool) {
	c.Inside, c.Evidence, c.Settings = map[string][]sample.Series{}, map[string]*evidence.Trial{}, map[string]*evidence.Settings{}
	raw, trials, series := store.OpenRaw(c.Dir), evidence.Parser{}, sample.SeriesParser{}
	problem := func(name, trial string, err error) {
		if err != nil {
			c.problem(lang.T("%s of %s: %v", name, trial, err))
		}
	}
	for _, r := range c.Results {
		if inside && r.Elapsed >= 1 {
			b, err := raw.Read(r.Trial, store.InsideFile)
			if err == nil && b != nil {
				var all []sample.Series
				if all, err = series.Parse(b); slices.ContainsFunc(all, timeline.Shaped) { // others would be held for nothing
					c.Inside[r.Trial] = all
				}
			}
			problem(store.InsideFile, r.Trial, err)
		}
		b, err := raw.Read(r.Trial, store.EvidenceFile)
		if err == nil && b != nil {
			var t *evidence.Trial
			if t, err = trials.Parse(b); err == nil {
				c.Evidence[r.Trial] = t
			}
		}
		problem(store.EvidenceFile, r.Trial, err)
	}
	stored := map[string]*evidence.Settings{} // by the trial that has the file; nil: none
	// Blocks repeat each other's settings, a file for every pair of hosts: memory holds equal ones once.
	equal := map[[sha256.Size]byte]*evidence.Settings{}
	for _, r := range c.Results {
		t := c.Evidence[r.Trial]
		if t == nil || t.Settings == "" {
			continue
		}
		s, known := stored[t.Settings]
		if !known {
			b, err := raw.Read(t.Settings, store.SettingsFile)
			sum := sha256.Sum256(b)
			if s = equal[sum]; s == nil && err == nil && b != nil {
				if s, err = evidence.ParseSettings(b); err != nil {
					s = nil
				}
				equal[sum] = s
			}
			problem(store.SettingsFile, t.Settings, err)
			stored[t.Settings] = s
		}
		if s != nil {
			c.Settings[r.Trial] = s
		}
	}
	if err := raw.Close(); err != nil {
		c.problem(lang.Text(err.Error()))
	}
}

// readProfiles reads the samples of the profile trials.
func (c *Contents) readProfiles(results []record.Result) {
	c.Profiled, c.Profiles = results, map[string]*profile.Profile{}
	raw := store.OpenRaw(c.Dir)
	for _, r := range results {
		b, err := raw.Read(r.Trial, trial.ProfileFile)
		if err == nil && b != nil {
			c.Profiles[r.Trial], err = profile.Parse(b)
		}
		if err != nil {
			c.problem(lang.T("%s of %s: %v", trial.ProfileFile, r.Trial, err))
		}
	}
	if err := raw.Close(); err != nil {
		c.problem(lang.Text(err.Error()))
	}
}

// TraceFile holds the trace of a network, in the raw bytes of TraceTrial.
const TraceFile = "trace.json"

// TraceTrial names what has the trace of a network among the raw files of trials.
func TraceTrial(network string) string { return "trace-" + network }

// readTraces reads the traces of a run, in the order of its networks.
func (c *Contents) readTraces() {
	raw := store.OpenRaw(c.Dir)
	for _, u := range c.Spec.Networks {
		b, err := raw.Read(TraceTrial(u.Name), TraceFile)
		if err == nil && b != nil {
			var t packettrace.Trace
			if t, err = packettrace.Parse(b); err == nil {
				c.Traces = append(c.Traces, t)
			}
		}
		if err != nil {
			c.problem(lang.T("trace of %s: %v", u.Name, err))
		}
	}
	if err := raw.Close(); err != nil {
		c.problem(lang.Text(err.Error()))
	}
}
