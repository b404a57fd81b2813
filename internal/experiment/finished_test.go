package experiment

import (
	"path/filepath"
	"testing"
	"testing/synctest"
)

// A run is finished when it has all its trials, also those that its pilot has added.
func TestFinished(t *testing.T) {
	for name, precision := range map[string]float64{"blocks": 0, "precision": 0.02} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := fakeStudy(8)
				s.Precision = precision
				c := config(t, &machine{measure: spread}, s, filepath.Join(t.TempDir(), "out"))
				trials := 0
				c.Progress = func(e Event) {
					if e.Result == nil || e.Done >= e.Total {
						return
					}
					trials++
					if n := Planned(s, nil, c.Dir.ReadFile); n != e.Total {
						t.Errorf("%d trials are planned, want %d", n, e.Total)
					}
					if done, err := Finished(s, nil, c.Dir); done || err != nil {
						t.Errorf("finished after %d of %d trials (error %v)", e.Done, e.Total, err)
					}
				}
				if err := Run(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				if done, err := Finished(s, nil, c.Dir); !done || err != nil || trials == 0 {
					t.Errorf("finished %v in the end, error %v", done, err)
				}
			})
		})
	}
}
