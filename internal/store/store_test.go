package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/record"
)

func result(trial string) *record.Result {
	return &record.Result{Format: record.Format, Trial: trial, Block: 1, Status: record.OK, Start: time.Unix(1e9, 0).UTC(), Elapsed: 1, Config: map[string]string{"network": "host"}}
}

func must(t *testing.T) func(error) {
	return func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func create(t *testing.T) (*Dir, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	d, err := Create(dir)
	must(t)(err)
	t.Cleanup(func() { d.Close() }) // some tests have closed it
	return d, dir
}

// Results of a round are recorded together or not at all.
func TestAppendTogether(t *testing.T) {
	d, dir := create(t)
	must(t)(d.Append(result("a"), result("b")))
	must(t)(d.Append())
	for _, rs := range [][]*record.Result{{result("c"), result("a")}, {result("c"), result("c")}, {result("c"), result("../x")}} {
		if err := d.Append(rs...); err == nil {
			t.Errorf("%v: no error", rs)
		}
	}
	if done := d.Done(); len(done) != 2 || !slices.Equal(recorded(t, d), []string{"a", "b"}) {
		t.Errorf("done %v, results %v", done, recorded(t, d))
	}
	if b, err := d.ReadFile("results.jsonl"); err != nil || bytes.Count(b, []byte("\n")) != 2 {
		t.Errorf("%s in %s, %v", b, dir, err)
	}
}

// recorded returns the trials of the results in a directory that is open.
func recorded(t *testing.T, d *Dir) []string {
	t.Helper()
	rs, err := d.Results()
	must(t)(err)
	return trials(rs)
}

func trials(rs []record.Result) []string {
	var ids []string
	for _, r := range rs {
		ids = append(ids, r.Trial)
	}
	return ids
}

func TestRun(t *testing.T) {
	d, dir := create(t)
	check := must(t)
	check(d.File("study.yaml", []byte("question: x\n")))
	check(d.File("hosts/h1.json", []byte("{}")))
	check(d.File("plans/host#2.jsonl", []byte("{}\n{}\n")))
	check(d.File("report.html", []byte("old")))
	check(d.File("report.html", []byte("new")))
	check(d.Raw("b001-a", "client.out", []byte("raw")))
	check(d.Append(result("b001-a")))
	check(d.Append(result("b001-b")))
	fmt.Fprintln(d.Log, "a message")
	if got := recorded(t, d); !slices.Equal(got, []string{"b001-a", "b001-b"}) {
		t.Errorf("results %v", got)
	}

	c, err := Read(dir) // while the run goes on
	check(err)
	want := Contents{
		Study: []byte("question: x\n"), Results: []record.Result{*result("b001-a"), *result("b001-b")},
		Hosts: map[string][]byte{"h1": []byte("{}")},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
	check(d.Close())

	for file, text := range map[string]string{"report.html": "new", "raw/b001-a/client.out": "raw", "weir.log": "a message\n", "plans/host#2.jsonl": "{}\n{}\n"} {
		if b, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(b) != text {
			t.Errorf("%s: %q, %v", file, b, err)
		}
	}
	if hidden, _ := filepath.Glob(filepath.Join(dir, "*", ".*")); len(hidden) > 0 {
		t.Errorf("left behind: %v", hidden)
	}
}

func TestCreateRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string // "" when Create takes the directory
	}{
		"empty":              {nil, ""},
		"stopped early":      {map[string]string{"results.jsonl": "", "weir.log": "x", "study.yaml": "x", "probes.json": "[]", "hosts/h1.json": "x", "logs/n/h1-d.log": "x"}, ""},
		"results":            {map[string]string{"results.jsonl": "{}\n", "study.yaml": "x"}, "DIR already holds results; continue with --resume DIR, or use another -o"},
		"raw bytes":          {map[string]string{"results.jsonl": "", "raw/t/f": "x"}, "DIR already holds results; continue with --resume DIR"},
		"foreign":            {map[string]string{"a": "x"}, "is not empty (a) and holds no results; use another -o"},
		"many foreign":       {map[string]string{"a": "", "b": "", "c": "", "d": ""}, "is not empty (a, b, c …) and holds no results"},
		"foreign study":      {map[string]string{"study.yaml": "mine"}, "DIR is not empty (study.yaml) and holds no results"},
		"foreign logs":       {map[string]string{"logs/a": "x"}, "is not empty (logs) and holds no results"},
		"foreign and leaves": {map[string]string{"results.jsonl": "", "thesis.tex": "x"}, "is not empty (thesis.tex)"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range c.files {
				must(t)(os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o777))
				must(t)(os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666))
			}
			d, err := Create(dir)
			if c.want == "" {
				must(t)(err)
				must(t)(d.Close())
				return
			}
			if err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(c.want, "DIR", dir)) || !strings.Contains(err.Error(), dir) {
				t.Errorf("error %v, want %s", err, c.want)
			}
			left, _ := filepath.Glob(filepath.Join(dir, "*"))
			if len(left) > len(c.files) {
				t.Errorf("a refused directory was written to: %v", left)
			}
		})
	}
}

func TestCreateFindsOutAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t)(os.WriteFile(file, nil, 0o666))
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		if _, err := Create(dir); !errors.Is(err, unix.ENOTDIR) || !strings.Contains(err.Error(), "use another -o") {
			t.Errorf("%s: error %v", dir, err)
		}
	}
}

func TestCreateReadOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ro")
	must(t)(os.Mkdir(dir, 0o555))
	if os.Getuid() == 0 {
		dir = "/sys/kernel/weir" // modes do not hold root back, sysfs does
	}
	if _, err := Create(dir); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "use another -o") {
		t.Errorf("error %v", err)
	}
}

func TestLock(t *testing.T) {
	d, dir := create(t)
	must(t)(d.File("study.yaml", nil))
	for name, f := range map[string]func(string) (*Dir, error){"Create": Create, "Open": Open} {
		if _, err := f(dir); !errors.Is(err, unix.EWOULDBLOCK) || !strings.Contains(err.Error(), dir+": another run is writing to it") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := Read(dir); err != nil {
		t.Errorf("Read: %v", err)
	}
	must(t)(d.Close())
	again, err := Open(dir)
	must(t)(err)
	must(t)(again.Close())
}

func TestOpenNeedsARun(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"study.yaml", "results.jsonl"} {
		if _, err := Open(dir); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "nothing to resume") || !strings.Contains(err.Error(), file) {
			t.Errorf("without %s: error %v", file, err)
		}
		must(t)(os.WriteFile(filepath.Join(dir, file), nil, 0o666))
	}
	d, err := Open(dir)
	must(t)(err)
	must(t)(d.Close())
}

func TestOpenRefusesANewerFormat(t *testing.T) {
	dir := t.TempDir()
	must(t)(os.WriteFile(filepath.Join(dir, "study.yaml"), nil, 0o666))
	text := fmt.Sprintf(`{"format":%d,"trial":"a"}`, record.Format+1)
	must(t)(os.WriteFile(filepath.Join(dir, "results.jsonl"), []byte(text+"\nrest"), 0o666))
	if _, err := Open(dir); !errors.Is(err, record.ErrNewer) {
		t.Errorf("error %v", err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "results.jsonl")); string(b) != text+"\nrest" {
		t.Error("a directory that cannot be resumed was changed")
	}
}

func TestBadLines(t *testing.T) {
	d, dir := create(t)
	must(t)(d.File("study.yaml", nil))
	must(t)(d.Append(result("a")))
	must(t)(d.Append(result("b")))
	must(t)(d.Close())
	file := filepath.Join(dir, "results.jsonl")
	b, err := os.ReadFile(file)
	must(t)(err)
	lines := bytes.SplitAfter(b, []byte("\n"))
	must(t)(os.WriteFile(file, bytes.Join([][]byte{lines[0], []byte("junk\n"), lines[0], lines[1]}, nil), 0o666))

	d, err = Open(dir)
	must(t)(err)
	defer d.Close()
	if got := slices.Sorted(maps.Keys(d.Done())); !slices.Equal(got, []string{"a", "b"}) || len(recorded(t, d)) != 2 {
		t.Errorf("done %v, %d results", got, len(recorded(t, d)))
	}
	log, err := os.ReadFile(filepath.Join(dir, "weir.log"))
	must(t)(err)
	if lines := strings.Split(string(log), "\n"); len(lines) != 3 || !strings.Contains(lines[0], "results.jsonl:2: ") || !strings.Contains(lines[1], `trial "a" occurs twice`) {
		t.Errorf("log %q", log)
	}
}

func TestAppendRefuses(t *testing.T) {
	d, dir := create(t)
	must(t)(d.Append(result("a")))
	nan := result("b")
	nan.Values = []record.Value{{Name: "rate", Value: math.NaN()}}
	for want, r := range map[string]*record.Result{
		"trial a is already recorded": result("a"), "value rate is NaN": nan, "empty name": result(""), "cannot be in a file name": result("a/b"),
	} {
		if err := d.Append(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if c, err := Read(dir); err != nil || !slices.Equal(trials(c.Results), []string{"a"}) {
		t.Errorf("%v, %v", trials(c.Results), err)
	}
}

func TestConcurrentAppend(t *testing.T) {
	d, dir := create(t)
	d.sync = func() error { return nil }
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				if err := d.Append(result(fmt.Sprintf("t%d-%d", i, j))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	c, err := Read(dir)
	must(t)(err)
	if len(c.Results) != 80 || len(d.Done()) != 80 {
		t.Errorf("%d results, %d done", len(c.Results), len(d.Done()))
	}
}

func TestNames(t *testing.T) {
	d, dir := create(t)
	before := list(t, filepath.Dir(dir))
	for _, bad := range []string{"", ".", "..", ".hidden", "a/b", "../a", "/a", `a\b`, "a\x00", "a\nb", "C:", "a*", strings.Repeat("x", 251)} {
		if err := d.Raw(bad, "f", nil); err == nil {
			t.Errorf("Raw trial %q: no error", bad)
		}
		if err := d.Raw("t", bad, nil); err == nil {
			t.Errorf("Raw name %q: no error", bad)
		}
		if err := d.File("hosts/"+bad, nil); err == nil {
			t.Errorf("File hosts/%q: no error", bad)
		}
		if err := d.File(bad, nil); err == nil {
			t.Errorf("File %q: no error", bad)
		}
	}
	for _, bad := range []string{"results.jsonl", "results.jsonl.cut", "weir.log", "raw", "hosts", "plans", "raw/a", "hosts/a/b", "x/y", "hosts/../a"} {
		if err := d.File(bad, nil); err == nil {
			t.Errorf("File %q: no error", bad)
		}
	}
	if after := list(t, filepath.Dir(dir)); !slices.Equal(slices.DeleteFunc(after, func(s string) bool { return strings.HasSuffix(s, "hosts") }), before) {
		t.Errorf("something was written: %v, before %v", after, before)
	}
	must(t)(d.Raw("b001-a_b+c=1.5", strings.Repeat("x", 250), nil))
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	must(t)(filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	}))
	return all
}

// Each network's logs have their own directory with a valid name.
func TestLogs(t *testing.T) {
	dir := t.TempDir()
	d, err := Create(dir)
	must(t)(err)
	defer d.Close()
	for range 2 {
		got, err := d.Logs("ovs")
		must(t)(err)
		must(t)(os.WriteFile(filepath.Join(got, "log"), []byte("x"), 0o666))
		if b, err := os.ReadFile(filepath.Join(dir, "logs", "ovs", "log")); err != nil || string(b) != "x" {
			t.Errorf("%s: %q, %v", got, b, err)
		}
	}
	// It stays the same directory.
	must(t)(errors.Join(os.Rename(filepath.Join(dir, "logs"), filepath.Join(dir, "old")), os.Symlink(t.TempDir(), filepath.Join(dir, "logs"))))
	if got, err := d.Logs("ovs"); err == nil {
		t.Errorf("%s: a link led out of the results", got)
	}
	if _, err := d.Logs("../ovs"); err == nil {
		t.Error("a name that leads elsewhere was accepted")
	}
}
