package store

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func small(t *testing.T) (ids []string, b []byte) {
	t.Helper()
	d, dir := create(t)
	ids = []string{"b001-a", "b001-b", "b002-a"}
	for _, id := range ids {
		must(t)(d.Append(result(id)))
	}
	must(t)(d.Close())
	b, err := os.ReadFile(filepath.Join(dir, "results.jsonl"))
	must(t)(err)
	return ids, b
}

// A run killed at any byte can be read, and resumes to the same end.
func TestKilledAtAnyByte(t *testing.T) {
	ids, b := small(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "results.jsonl")
	must(t)(os.WriteFile(filepath.Join(dir, "study.yaml"), []byte("x"), 0o666))
	for n := range len(b) + 1 {
		must(t)(os.WriteFile(file, b[:n], 0o666))
		whole := bytes.Count(b[:n], []byte("\n"))
		rest := n - bytes.LastIndexByte(b[:n], '\n') - 1

		c, err := Read(dir)
		must(t)(err)
		problems := min(rest, 1)
		if !slices.Equal(trials(c.Results), ids[:whole]) || len(c.Problems) != problems {
			t.Fatalf("%d bytes: read %v, problems %v", n, trials(c.Results), c.Problems)
		}
		if problems == 1 && !errors.Is(c.Problems[0], io.ErrUnexpectedEOF) {
			t.Fatalf("%d bytes: problem %v", n, c.Problems[0])
		}

		must(t)(os.RemoveAll(filepath.Join(dir, "weir.log")))
		d, err := Open(dir)
		must(t)(err)
		log, err := os.ReadFile(filepath.Join(dir, "weir.log"))
		must(t)(err)
		if !slices.Equal(slices.Sorted(maps.Keys(d.Done())), slices.Sorted(slices.Values(ids[:whole]))) || bytes.Count(log, []byte("\n")) != problems {
			t.Fatalf("%d bytes: done %v, log %q", n, d.Done(), log)
		}
		d.sync = func() error { return nil } // fast
		for _, id := range ids {
			if !d.Done()[id] {
				must(t)(d.Append(result(id)))
			}
		}
		must(t)(d.Close())
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%d bytes: resumed to %q, %v", n, got, err)
		}
		cut, err := os.ReadFile(filepath.Join(dir, "results.jsonl.cut"))
		if rest > 0 && (err != nil || string(cut) != string(b[n-rest:n])+"\n") {
			t.Fatalf("%d bytes: kept %q, %v", n, cut, err)
		}
		if rest == 0 && err == nil {
			t.Fatalf("%d bytes: kept %q, but nothing was cut", n, cut)
		}
		os.Remove(filepath.Join(dir, "results.jsonl.cut")) // missing when nothing was cut
	}
}

func TestReadWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "missing")} {
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "not a results directory") {
			t.Errorf("%s: error %v", path, err)
		}
	}
	if _, err := Runs(filepath.Join(dir, "missing")); err == nil || !strings.Contains(err.Error(), "it does not exist") {
		t.Error(err)
	}
	must(t)(os.WriteFile(filepath.Join(dir, "study.yaml"), []byte("s"), 0o666))
	c, err := Read(dir)
	if err != nil || string(c.Study) != "s" || len(c.Problems) != 1 || !strings.Contains(c.Problems[0].Error(), "results.jsonl") {
		t.Errorf("%+v, %v", c, err)
	}
	_, b := small(t)
	must(t)(os.WriteFile(filepath.Join(dir, "results.jsonl"), b, 0o666))
	must(t)(os.Remove(filepath.Join(dir, "study.yaml")))
	must(t)(os.MkdirAll(filepath.Join(dir, "hosts", "h2.json"), 0o777)) // not a file
	must(t)(os.WriteFile(filepath.Join(dir, "hosts", ".h1.json.tmp"), []byte("unfinished"), 0o666))
	c, err = Read(dir)
	if err != nil || len(c.Results) != 3 || len(c.Hosts) != 0 || len(c.Problems) != 2 {
		t.Errorf("%+v, %v", c, err)
	}
}

func full(d *Dir) func([]byte) (int, error) {
	return func(b []byte) (int, error) {
		n, err := d.results.Write(b[:len(b)/2])
		return n, errors.Join(err, &os.PathError{Op: "write", Path: d.results.Name(), Err: unix.ENOSPC})
	}
}

func TestFullDisk(t *testing.T) {
	d, dir := create(t)
	must(t)(d.Append(result("a")))
	write := d.write
	d.write = full(d)
	err := d.Append(result("b"))
	if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "the trial is not recorded") || !strings.Contains(err.Error(), "make room, then continue with --resume "+dir) {
		t.Errorf("error %v", err)
	}
	var resume Resume
	if !errors.As(err, &resume) || resume.Dir != dir {
		t.Errorf("%v: continues %q", err, resume.Dir)
	}
	if c, err := Read(dir); err != nil || !slices.Equal(trials(c.Results), []string{"a"}) || len(c.Problems) != 1 { // study.yaml
		t.Errorf("%+v, %v", c, err)
	}
	if d.Done()["b"] || len(recorded(t, d)) != 1 {
		t.Error("b counts as done")
	}
	d.write = write // there is room again
	must(t)(d.Append(result("b")))
	if c, err := Read(dir); err != nil || !slices.Equal(trials(c.Results), []string{"a", "b"}) || len(c.Problems) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestShortWrite(t *testing.T) {
	d, dir := create(t)
	d.write = func(b []byte) (int, error) { return d.results.Write(b[:10]) }
	if err := d.Append(result("a")); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "results.jsonl")); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// A line that the disk did not confirm is not recorded.
func TestFailedSync(t *testing.T) {
	d, dir := create(t)
	fail := true
	d.sync = func() error {
		if fail {
			fail = false
			return unix.EIO
		}
		return nil
	}
	if err := d.Append(result("a")); !errors.Is(err, unix.EIO) {
		t.Errorf("error %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "results.jsonl")); err != nil || info.Size() != 0 || d.Done()["a"] {
		t.Errorf("%v, %v", info, err)
	}
	must(t)(d.Append(result("a")))
}

// If even the partial line cannot be removed, nothing is appended to it, and Open repairs it.
func TestFullDiskThatStaysBroken(t *testing.T) {
	d, dir := create(t)
	must(t)(d.File("study.yaml", nil))
	must(t)(d.Append(result("a")))
	d.write = func(b []byte) (int, error) {
		n, err := full(d)(b)
		return n, errors.Join(err, d.results.Close()) // so that Truncate fails
	}
	first := d.Append(result("b"))
	if !errors.Is(first, unix.ENOSPC) || !errors.Is(first, os.ErrClosed) || !strings.Contains(first.Error(), "cannot remove the incomplete last line before --resume") {
		t.Errorf("error %v", first)
	}
	if err := d.Append(result("c")); err != first {
		t.Errorf("error %v", err)
	}
	again, err := Open(dir)
	must(t)(err)
	defer again.Close()
	must(t)(again.Append(result("b")))
	if c, err := Read(dir); err != nil || !slices.Equal(trials(c.Results), []string{"a", "b"}) || len(c.Problems) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// A write that fails leaves only the old file.
func TestWriteFileFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "report.md")
	must(t)(os.MkdirAll(filepath.Join(path, "in the way"), 0o777)) // a directory cannot be renamed over
	if err := WriteFile(path, []byte("x")); err == nil {
		t.Error("no error")
	}
	if got := list(t, dir); len(got) != 3 {
		t.Errorf("left behind: %v", got)
	}
	if err := WriteFile(filepath.Join(dir, "missing", "f"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
