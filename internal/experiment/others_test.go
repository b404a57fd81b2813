package experiment

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/sample"
)

// Programs outside the run are sampled between blocks, seldom, and added up over a resumed run.
func TestOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "out")
		begin, samples := time.Now(), 0
		read := func() (sample.Counters, error) {
			samples++
			at := time.Since(begin).Seconds()
			c := sample.Counters{"7 firefox": 100 + at/2, "1 init": 3}
			if at > 4 && at < 12 {
				c["9 make"] = at - 4
			}
			return c, nil
		}
		stored := func() (o analysis.Others) {
			t.Helper()
			b, err := results(t, dir).ReadFile(othersFile)
			if err == nil {
				err = json.Unmarshal(b, &o)
			}
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		for _, blocks := range []int{8, 12} {
			c := config(t, &machine{}, fakeStudy(blocks), dir)
			c.Others = read
			if err := Run(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if err := c.Dir.Close(); err != nil {
				t.Fatal(err)
			}
		}
		o := stored()
		if len(o.Programs) != 2 || o.Programs[0].PID != 7 || o.Programs[1].Name != "make" || o.Programs[1].CPU < 3 {
			t.Errorf("%+v, want firefox, and make although it ended", o.Programs)
		}
		if cores := o.Cores(o.Programs[0]); o.Seconds < 24 || cores < 0.49 || cores > 0.51 {
			t.Errorf("%g cores in %g s, want 0.5 in 12 blocks of 2 s", cores, o.Seconds)
		}
		if samples < 4 || samples > 10 {
			t.Errorf("%d samples in %g s", samples, o.Seconds)
		}
	})
}

// Numbers do not depend on the names of other programs: an error is a warning.
func TestOthersUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(t, &machine{}, fakeStudy(2), filepath.Join(t.TempDir(), "out"))
		c.Others = func() (sample.Counters, error) { return nil, errors.New("hidden") }
		warned := ""
		c.Progress = func(e Event) { warned += e.Warning }
		if err := Run(t.Context(), c); err != nil || !strings.Contains(warned, "other programs: hidden") {
			t.Errorf("%v, warned %q", err, warned)
		}
		if _, err := c.Dir.ReadFile(othersFile); err == nil {
			t.Error("it stored a file")
		}
	})
}
