package store

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/record"
)

// Someone who can write to the directory plants links where weir writes: weir must change no other file.
func TestPlantedLinks(t *testing.T) {
	for _, name := range []string{".report.html.tmp", ".report.md.tmp", "hosts/.local.json.tmp", "report.html", "raw/t/client.out", "raw/.t.zip.tmp"} {
		for kind, plant := range map[string]func(old, new string) error{"symbolic": os.Symlink, "hard": os.Link} {
			d, dir := create(t)
			victim := filepath.Join(t.TempDir(), "victim")
			at := filepath.Join(dir, name)
			if err := errors.Join(os.WriteFile(victim, []byte("untouched"), 0o600), os.MkdirAll(filepath.Dir(at), 0o700), plant(victim, at)); err != nil {
				t.Fatal(err)
			}
			round, err := d.Round("t")
			must(t)(err)
			must(t)(round.Raw("t", "client.out", []byte("x")))
			must(t)(errors.Join(d.File("report.html", nil), d.File("report.md", nil), d.File("hosts/local.json", nil), d.Raw("t", "client.out", []byte("x")), round.Close()))
			if b, err := os.ReadFile(victim); err != nil || string(b) != "untouched" {
				t.Errorf("%s link at %s: the other file is %q, %v", kind, name, b, err)
			}
		}
	}
}

// Files that are only appended to, and folders, are refused.
func TestPlantedFiles(t *testing.T) {
	plants := map[string]func(old, new string) error{"symbolic link": os.Symlink, "hard link": os.Link, "pipe": func(_, new string) error { return unix.Mkfifo(new, 0o600) }}
	for _, name := range []string{"weir.log", "results.jsonl", "results.jsonl.cut"} {
		for kind, plant := range plants {
			d, dir := create(t)
			must(t)(errors.Join(d.File("study.yaml", nil), d.Append(result("a")), d.Close()))
			f, err := os.OpenFile(filepath.Join(dir, "results.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
			must(t)(err)
			fmt.Fprint(f, "half a line")
			must(t)(f.Close())
			victim, at := filepath.Join(t.TempDir(), "victim"), filepath.Join(dir, name)
			must(t)(errors.Join(os.WriteFile(victim, []byte("untouched"), 0o600), os.RemoveAll(at), plant(victim, at)))
			if d, err := Open(dir); err == nil {
				d.Close()
				t.Errorf("%s at %s: no error", kind, name)
			}
			if b, err := os.ReadFile(victim); err != nil || string(b) != "untouched" {
				t.Errorf("%s at %s: the other file is %q, %v", kind, name, b, err)
			}
		}
	}
	d, dir := create(t)
	elsewhere := t.TempDir()
	for _, folder := range []string{"hosts", "plans", "raw", "logs"} {
		must(t)(os.Symlink(elsewhere, filepath.Join(dir, folder)))
	}
	_, err := d.Logs("net")
	for i, err := range []error{d.File("hosts/h1.json", nil), d.File("plans/n.jsonl", nil), d.Raw("t", "f", nil), err} {
		if err == nil {
			t.Errorf("%d: wrote through a link", i)
		}
	}
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// A run whose directory goes away, or whose results lose lines, records nothing more.
func TestDirectoryGone(t *testing.T) {
	for name, harm := range map[string]func(dir string) error{
		"removed":  os.RemoveAll,
		"moved":    func(dir string) error { return os.Rename(dir, dir+".old") },
		"replaced": func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)) },
		"other": func(dir string) error {
			return os.Rename(filepath.Join(dir, "weir.log"), filepath.Join(dir, "results.jsonl"))
		},
		"truncated": func(dir string) error { return os.Truncate(filepath.Join(dir, "results.jsonl"), 3) },
	} {
		d, dir := create(t)
		must(t)(d.Append(result("a")))
		must(t)(harm(dir))
		if err := d.Append(result("b")); !errors.Is(err, ErrGone) {
			t.Errorf("%s: %v", name, err)
		}
		if rs, err := d.Results(); name == "truncated" && (rs != nil || !errors.Is(err, ErrGone)) || name != "truncated" && len(rs) != 1 {
			t.Errorf("%s: results %v, %v", name, rs, err)
		}
		if name == "removed" {
			for _, err := range []error{d.Raw("b", "f", nil), d.File("report.html", nil), d.File("hosts/h1.json", nil)} {
				if !errors.Is(err, ErrGone) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("the directory is back")
			}
		}
	}
}

// Trials that measured nothing run again, and the new result counts, in the order of time.
func TestRetry(t *testing.T) {
	with := func(trial string, s record.Status, reason string) *record.Result {
		r := result(trial)
		r.Status, r.Reason = s, reason
		return r
	}
	d, dir := create(t)
	must(t)(d.File("study.yaml", nil))
	must(t)(d.Append(with("a", record.OK, ""), with("b", record.Skipped, "no tool"), with("c", record.Failed, "killed"), with("d", record.Invalid, "leaked")))
	must(t)(d.Close())
	d, err := Open(dir)
	must(t)(err)
	defer d.Close()
	if n := len(d.Done()); n != 4 {
		t.Errorf("%d trials are recorded, want 4", n)
	}
	if n, err := d.Retry(); n != 2 || err != nil || d.Done()["b"] || d.Done()["c"] || !slices.Equal(recorded(t, d), []string{"a", "d"}) {
		t.Errorf("%d to try again; done %v, results %v", n, d.Done(), recorded(t, d))
	}
	must(t)(d.Append(with("c", record.Failed, "killed again")))
	must(t)(d.Append(with("b", record.OK, "")))
	if err := d.Append(with("b", record.OK, "")); err == nil {
		t.Error("recorded twice")
	}
	c, err := Read(dir)
	if err != nil || len(c.Problems) > 0 || !slices.Equal(trials(c.Results), []string{"a", "d", "c", "b"}) || c.Results[2].Reason != "killed again" || c.Results[3].Status != record.OK {
		t.Errorf("%+v, %v", c, err)
	}
}

// What is in a directory can come from anywhere.
func TestReadBounded(t *testing.T) {
	for _, name := range []string{"study.yaml", "results.jsonl", "probes.json", "others.json", "machines.json", "profiles.jsonl", "hosts/h1.json"} {
		for kind, plant := range map[string]func(string) error{
			"endless": func(at string) error { return os.Symlink("/dev/zero", at) },
			"pipe":    func(at string) error { return unix.Mkfifo(at, 0o600) },
			"huge":    func(at string) error { return errors.Join(os.WriteFile(at, nil, 0o600), os.Truncate(at, 1<<40)) },
		} {
			d, dir := create(t)
			must(t)(errors.Join(d.File("study.yaml", []byte("s")), d.Append(result("a")), d.JSON("hosts/h2.json", 1), d.Close()))
			at := filepath.Join(dir, name)
			must(t)(errors.Join(os.RemoveAll(at), plant(at)))
			if c, err := Read(dir); err != nil || len(c.Problems) != 1 || !strings.Contains(c.Problems[0].Error(), filepath.Base(name)) {
				t.Errorf("%s %s: problems %v, %v", kind, name, c.Problems, err)
			}
		}
	}
}

func TestUncountable(t *testing.T) {
	d, dir := create(t)
	for trial, v := range map[string]float64{"a": 1, "b": 1.7e308, "c": -1.7e308} {
		r := result(trial)
		r.Values = []record.Value{{Name: "x", Unit: "s", Value: v}}
		must(t)(d.Append(r))
	}
	if c, err := Read(dir); err != nil || !slices.Equal(trials(c.Results), []string{"a"}) || len(c.Problems) != 3 { // one is the missing study
		t.Errorf("%+v, %v, up to %g", c, err, math.MaxFloat64)
	}
}
