package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/internal/job"
)

func TestNearIDs(t *testing.T) {
	ids := []string{"thesis-1", "thesis-10", "thesis-star", "ovs-cpu", "ovs-native-ping", "kvm-ping"}
	for name, want := range map[string]string{
		"thesis-99": "thesis-1 thesis-10 thesis-star", "thesis-12": "thesis-1 thesis-10", "ovs-ping": "ovs-native-ping kvm-ping", "x": "",
	} {
		if got := strings.Join(nearIDs(ids, name), " "); got != want {
			t.Errorf("near %s: %s, want %s", name, got, want)
		}
	}
}

// The commands exist that stand in for figures without a measurement.
func TestFiguresInstead(t *testing.T) {
	shipped, err := figure.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range shipped {
		for _, one := range strings.Split(f.Instead, "; ") {
			if name, ok := strings.CutPrefix(one, "weir plan -n "); ok {
				name, _, _ = strings.Cut(strings.TrimPrefix(name, "'{use: "), ",")
				if catalog.Networks[name].New == nil {
					t.Errorf("%s: %s: no such network", f.ID, one)
				}
			}
			if name, ok := strings.CutPrefix(one, "weir run "); ok && !slices.Contains(job.StudyNames(), name) {
				t.Errorf("%s: %s: no such study", f.ID, one)
			}
		}
	}
}

// The command that continues measures and draws the same.
func TestFigureAgain(t *testing.T) {
	d := drawing{figures: []figure.Figure{{ID: "thesis-1"}}, out: "x.svg", look: figure.Look{SD: true}}
	d.dir, d.fast, d.keep, d.given = "all", true, true, []string{"--blocks=20", "--in-vm=true"}
	if got, want := d.again(), "weir figure --results all --fast --keep-disturbed --spread sd -o x.svg --blocks=20 --in-vm=true thesis-1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A figure has the verdicts that its data decide, and names the claims of other studies; a directory that lacks the
// figure's values leaves no path in it.
func TestFigureVerdicts(t *testing.T) {
	shipped, err := figure.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	runs := recordedRuns(t)
	for id, c := range map[string]struct {
		run             string
		judged, missing int
	}{"thesis-14": {"offload", 3, 0}, "thesis-13": {"offload", 1, 3}} {
		f := shipped[slices.IndexFunc(shipped, func(f figure.Figure) bool { return f.ID == id })]
		r, err := job.NewResults([]string{runs[c.run]}, false, tell).Figure(f)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Outcomes) != c.judged || len(r.Untested) != c.missing {
			t.Errorf("%s: %d verdicts, not tested %q", id, len(r.Outcomes), r.Untested)
		}
		if takes, err := job.TestTime(r.Untested, true); err != nil || (takes > 0) != (c.missing > 0) {
			t.Errorf("%s: tests take %v, %v", id, takes, err)
		}
		for _, m := range r.Missing {
			if strings.Contains(m, runs[c.run]) {
				t.Errorf("%s: a path in %q", id, m)
			}
		}
	}
}
