package cli

import (
	"crypto/sha256"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/store"
)

// rawFiles reads what the trials observed, the settings that held and, with inside, what they sampled inside their
// windows. Older runs lack some of it, and trials of less than a second have no samples.
func rawFiles(dir string, rep *report.Run, inside bool) {
	rep.Inside, rep.Evidence, rep.Settings = map[string][]sample.Series{}, map[string]*evidence.Trial{}, map[string]*evidence.Settings{}
	raw, trials, series := store.OpenRaw(dir), evidence.Parser{}, sample.SeriesParser{}
	problem := func(name, trial string, err error) {
		if err != nil {
			rep.Problems = append(rep.Problems, lang.T("%s of %s: %v", name, trial, err))
		}
	}
	for _, r := range rep.Results {
		if inside && r.Elapsed >= 1 {
			b, err := raw.Read(r.Trial, store.InsideFile)
			if err == nil && b != nil {
				var all []sample.Series
				if all, err = series.Parse(b); slices.ContainsFunc(all, analysis.Shaped) { // others would be held for nothing
					rep.Inside[r.Trial] = all
				}
			}
			problem(store.InsideFile, r.Trial, err)
		}
		b, err := raw.Read(r.Trial, store.EvidenceFile)
		if err == nil && b != nil {
			var t *evidence.Trial
			if t, err = trials.Parse(b); err == nil {
				rep.Evidence[r.Trial] = t
			}
		}
		problem(store.EvidenceFile, r.Trial, err)
	}
	stored := map[string]*evidence.Settings{} // by the trial that has the file; nil: none
	// Blocks repeat each other's settings, a file for every pair of hosts: memory holds equal ones once.
	equal := map[[sha256.Size]byte]*evidence.Settings{}
	for _, r := range rep.Results {
		t := rep.Evidence[r.Trial]
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
			rep.Settings[r.Trial] = s
		}
	}
	if err := raw.Close(); err != nil {
		rep.Problems = append(rep.Problems, lang.Text(err.Error()))
	}
}
