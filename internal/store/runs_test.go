package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func start(t *testing.T, dir string) {
	t.Helper()
	d, err := Create(dir)
	if err == nil {
		err = d.File(studyFile, []byte("name: x\n"))
	}
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
}

func TestRuns(t *testing.T) {
	dir := t.TempDir()
	_, err := Runs(dir)
	fails(t, err, "neither a run", "nor a series")

	one := filepath.Join(dir, "one")
	start(t, one)
	if runs, err := Runs(one); err != nil || !slices.Equal(runs, []string{one}) {
		t.Errorf("a run stands for %v, %v", runs, err)
	}

	many := filepath.Join(dir, "many")
	want := Series{Runs: 1000, Every: 90 * time.Second}
	if err := CreateSeries(many, want); err != nil {
		t.Fatal(err)
	}
	if s, err := ReadSeries(many); err != nil || s != want {
		t.Errorf("read %+v, %v; want %+v", s, err, want)
	}
	_, err = Runs(many)
	fails(t, err, "none of its 1000 runs has started", "remove the directory")
	for _, n := range []int{1000, 2, 999, 1} {
		start(t, RunDir(many, n))
	}
	if err := os.Mkdir(RunDir(many, 3), 0o777); err != nil { // nothing in it
		t.Fatal(err)
	}
	var names []string
	runs, err := Runs(many)
	for _, r := range runs {
		names = append(names, filepath.Base(r))
	}
	if err != nil || strings.Join(names, " ") != "001 002 999 1000" {
		t.Errorf("a series stands for %v, %v", names, err)
	}
}

func TestSeriesRefuses(t *testing.T) {
	dir := t.TempDir()
	for content, want := range map[string]string{
		`{"runs": 0, "every": "0s"}`:    "invalid runs 0: want 1 to 1000",
		`{"runs": 1001, "every": "0s"}`: "invalid runs 1001",
		`{"runs": 2, "every": "soon"}`:  `invalid every "soon"`,
		`{"runs": 2, "every": "-1s"}`:   `invalid every "-1s"`,
		`{"runs": 2`:                    runsFile,
	} {
		if err := os.WriteFile(filepath.Join(dir, runsFile), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := ReadSeries(dir)
		fails(t, err, want)
	}
	start(t, RunDir(dir, 1))
	fails(t, CreateSeries(dir, Series{Runs: 2}), "already holds a series", "--resume "+dir)
	full := t.TempDir()
	start(t, full)
	fails(t, CreateSeries(full, Series{Runs: 2}), "is not empty", "another -o")

	d, err := OpenSeries(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = OpenSeries(dir)
	fails(t, err, "another process is running this series")
	d.Close()
	if d, err = OpenSeries(dir); err != nil {
		t.Fatalf("after Close: %v", err)
	}
	defer d.Close()
	if err := d.File("report.md", []byte("x")); err != nil {
		t.Error(err)
	}
	fails(t, d.File("../x", nil), "file")
}

func fails(t *testing.T, err error, want ...string) {
	t.Helper()
	for _, w := range want {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("got error %v, want one with %q", err, w)
		}
	}
}

// A run or a series that was killed before it began, while it wrote its first files, can begin again in its
// directory. What someone else has put there stays.
func TestKilledBeforeItBegan(t *testing.T) {
	for files, ok := range map[string]bool{
		"results.jsonl weir.log .study.yaml.tmp":             true,
		"results.jsonl weir.log study.yaml .probes.json.tmp": true,
		".study.yaml.tmp":                  false, // the directory of something else
		"results.jsonl weir.log .mine.tmp": false,
	} {
		dir := t.TempDir()
		plant(t, dir, files)
		d, err := Create(dir)
		if ok != (err == nil) {
			t.Errorf("%s: %v", files, err)
		}
		if err == nil {
			must(t)(d.Close())
		}
	}
	for files, ok := range map[string]bool{
		".runs.json.tmp": true,
		"runs.json":      true,
		"runs.json 001/results.jsonl 001/weir.log":                true,
		"runs.json 001/results.jsonl 001/weir.log 001/study.yaml": false,
		"001/results.jsonl 001/weir.log":                          false,
		"runs.json mine":                                          false,
	} {
		dir := t.TempDir()
		plant(t, dir, files)
		if err := CreateSeries(dir, Series{Runs: 2}); ok != (err == nil) {
			t.Errorf("series, %s: %v", files, err)
		}
	}
}

// plant makes empty files, whose names are separated by spaces.
func plant(t *testing.T, dir, files string) {
	t.Helper()
	for _, f := range strings.Fields(files) {
		must(t)(os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o700))
		must(t)(os.WriteFile(filepath.Join(dir, f), nil, 0o600))
	}
}

// A series whose directory goes away says so, whatever it was about to do.
func TestSeriesGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "series")
	must(t)(CreateSeries(dir, Series{Runs: 2}))
	d, err := OpenSeries(dir)
	must(t)(err)
	defer d.Close()
	must(t)(d.File("report.md", nil))
	if err := d.OrGone(os.ErrInvalid); err != os.ErrInvalid {
		t.Errorf("it is there: %v", err)
	}
	must(t)(os.RemoveAll(dir))
	for _, err := range []error{d.File("report.md", nil), d.OrGone(os.ErrInvalid)} {
		if !errors.Is(err, ErrGone) {
			t.Errorf("error %v", err)
		}
	}
	if d.OrGone(nil) != nil {
		t.Error("an error without a cause")
	}
}
