package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/store"
)

// A writer is a command whose system calls fail. It runs in a directory of its own.
type writer struct {
	name string
	from string   // results that it begins with: "", "whole" or "half"
	args []string // of weir
	page string   // the file that it writes, which is there before; "" for a run
	end  string   // of that file, when it is complete
}

var writers = []writer{
	{"run", "", []string{"run", "-o", "out", "-n", "host", "-p", "udp-rr", "--blocks", "2", "--duration", "10ms", "--warmup", "0s", "--keep-disturbed", "--seed", "3"}, "", ""},
	{"run --runs", "", []string{"run", "-o", "out", "-n", "host", "-p", "udp-rr", "--blocks", "1", "--duration", "10ms", "--warmup", "0s", "--keep-disturbed", "--seed", "3", "--runs", "2"}, "", ""},
	{"run --resume", "half", []string{"run", "--resume", "out"}, "", ""},
	{"report", "whole", []string{"report", "out", "--format", "html", "-o", "page.html"}, "page.html", "</html>"},
	{"pool", "whole", []string{"pool", "out", "--format", "html", "-o", "page.html"}, "page.html", "</html>"},
	{"index", "whole", []string{"index", "."}, "index.html", "</html>"},
	{"image", "", []string{"image", "weir.tar"}, "weir.tar", "\x00"},
	{"cite", "whole", []string{"cite", "out", "-o", "page.bib"}, "page.bib", "}"},
	{"compare --junit", "whole", []string{"compare", "out", "out", "--junit", "page.xml"}, "page.xml", "</testsuites>"},
	{"report --format csv", "whole", []string{"report", "out", "--format", "csv", "-o", "page.csv"}, "page.csv", ""},
	{"package", "whole", []string{"package", "out", "-o", "page.tar.gz"}, "page.tar.gz", ""},
}

// mishaps are what happens to a system call: an error or a count that strace(1) makes it return, or the end of
// the process.
var mishaps = map[string][]string{
	"write":     {"error=ENOSPC", "error=EIO", "error=EINTR", "retval=0", "signal=KILL"},
	"pwrite64":  {"error=ENOSPC", "error=EIO"},
	"writev":    {"error=ENOSPC", "error=EIO"},
	"openat":    {"error=ENOSPC", "error=EIO", "error=EINTR", "error=EMFILE", "signal=KILL"},
	"mkdirat":   {"error=ENOSPC", "error=EIO", "signal=KILL"},
	"renameat":  {"error=ENOSPC", "error=EIO", "signal=KILL"},
	"renameat2": {"error=ENOSPC", "error=EIO", "signal=KILL"},
	"fsync":     {"error=ENOSPC", "error=EIO", "error=EINTR", "signal=KILL"},
	"ftruncate": {"error=EIO", "signal=KILL"},
	"linkat":    {"error=ENOSPC", "error=EIO"},
	"unlinkat":  {"error=EIO", "signal=KILL"},
	"close":     {"error=EIO"},
}

// causes are the words for what fails; a count of 0 is a short write.
var causes = map[string]string{"error=ENOSPC": "no space left on device", "error=EIO": "input/output error", "error=EMFILE": "too many open files",
	"error=EINTR": "interrupted system call", "retval=0": "unexpected EOF|short write"}

// A spot is a call on a file that a command makes.
type spot struct{ call, file string }

// An injection makes one place of one command fail, at its first or second call of a thread or always.
type injection struct {
	writer
	spot
	mishap, when string
}

func (i injection) String() string {
	return fmt.Sprintf("%s: %s of %s: %s, when=%s", i.writer.name, i.call, i.file, i.mishap, i.when)
}

// under runs weir in dir, under strace with options, and returns what strace saw.
func under(t *testing.T, dir string, args []string, options ...string) (p *process, log string) {
	t.Helper()
	bin, err := exec.LookPath("weir")
	if err != nil {
		t.Fatal(err)
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	file := filepath.Join(t.TempDir(), "strace")
	p = &process{mark: "WEIR_TEST_MARK=" + t.TempDir()}
	p.Cmd = weir(p.mark)
	p.Path, p.Dir = strace, dir
	p.Args = append(append([]string{"strace", "-f", "-y", "-qqq", "-s", "256", "-e", "signal=none", "-o", file}, options...), append([]string{bin}, args...)...)
	p.Stdout, p.Stderr, p.WaitDelay = &p.stdout, &p.stderr, patience
	late := time.AfterFunc(slow, func() { _ = p.Process.Kill() })
	defer late.Stop()
	var exit *exec.ExitError
	if err := p.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	eventually(t, "nothing is left", func() bool { return len(withEnv(p.mark)) == 0 })
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return p, string(b)
}

// of matches a call in strace's log: its name, the file or directory of its first argument, and a name below it.
var of = regexp.MustCompile(`(?m)^\d+ +(\w+)\((?:AT_FDCWD|\d+)<([^>]*)>(?:, "([^"]*)")?`)

// spots returns the calls that a writer makes below its directory, in order, with their numbers.
func (w writer) spots(t *testing.T, from string) (all []spot, n map[spot]int) {
	t.Helper()
	dir := w.begin(t, from)
	names := []string{}
	for call := range mishaps {
		names = append(names, "?"+call) // not every machine has each
	}
	p, log := under(t, dir, w.args, "-e", "trace="+strings.Join(names, ","))
	if status := p.ProcessState.ExitCode(); status > 1 {
		t.Fatalf("%s: status %d\n%s", w.name, status, &p.stderr)
	}
	n = map[spot]int{}
	first := "" // trial, whose raw files stand for all
	for _, m := range of.FindAllStringSubmatch(log, -1) {
		file := m[2]
		if m[3] != "" && filepath.IsAbs(m[3]) {
			file = m[3]
		} else if m[3] != "" {
			file = filepath.Join(file, m[3])
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil || rel == "." || strings.HasPrefix(rel, "..") || strings.Contains(rel, " (deleted)") {
			continue
		}
		if _, raw, ok := strings.Cut(rel, "raw/"); ok {
			trial, _, _ := strings.Cut(raw, "/")
			if first == "" {
				first = trial
			}
			if trial != first {
				continue
			}
		}
		at := spot{m[1], rel}
		if n[at]++; n[at] == 1 {
			all = append(all, at)
		}
	}
	if len(all) < 5 {
		t.Fatalf("%s makes only the calls %v:\n%.2000s", w.name, all, log)
	}
	return all, n
}

// begin makes the directory in which the writer runs.
func (w writer) begin(t *testing.T, from string) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // strace prints real names
	if err == nil && w.from != "" {
		err = os.CopyFS(filepath.Join(dir, "out"), os.DirFS(filepath.Join(from, w.from)))
	}
	if err == nil && w.page != "" {
		err = os.WriteFile(filepath.Join(dir, w.page), []byte(old), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// old is in files that a command replaces. The second line makes it an index for weir.
const old = "old\n<!-- weir index -->\n"

// begun makes the results that writers begin with: whole ones, and what a run leaves that was killed while it wrote its
// second line.
func begun(t *testing.T) (from string) {
	t.Helper()
	from = t.TempDir()
	w := writers[0]
	p := &process{Cmd: weir("WEIR_TEST_MARK="+from, w.args...)}
	p.Dir = from
	if out, err := p.CombinedOutput(); err != nil && p.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	whole, half := filepath.Join(from, "whole"), filepath.Join(from, "half")
	err := os.Rename(filepath.Join(from, "out"), whole)
	if err == nil {
		err = os.CopyFS(half, os.DirFS(whole))
	}
	var b []byte
	if err == nil {
		b, err = os.ReadFile(filepath.Join(half, "results.jsonl"))
	}
	if err == nil {
		err = errors.Join(os.Truncate(filepath.Join(half, "results.jsonl"), int64(len(b)-20)), os.Remove(filepath.Join(half, "report.html")), os.Remove(filepath.Join(half, "report.md")))
	}
	if err != nil {
		t.Fatal(err)
	}
	return from
}

// inject makes a call fail and checks what the command leaves. It returns false if the call did not come.
func (i injection) inject(t *testing.T, from string) bool {
	t.Helper()
	dir := i.begin(t, from)
	before := recordedIn(filepath.Join(dir, "out"))
	options := []string{"-P", filepath.Join(dir, i.file), "-P", filepath.Base(i.file), "-e", "trace=" + i.call, "-e", "inject=" + i.call + ":" + i.mishap + ":when=" + i.when}
	p, log := under(t, dir, i.args, options...)
	killed := i.mishap == "signal=KILL"
	if !killed && !strings.Contains(log, "(INJECTED") || killed && !strings.Contains(log, i.call+"(") {
		return false
	}
	said, status := p.stderr.String(), p.ProcessState.ExitCode()
	if panicked.MatchString(said) || status == 2 && i.from == "" {
		t.Errorf("%v: status %d\n%s", i, status, said)
	}
	// What failed is told. A file that was only read can be closed badly.
	if status != 0 && !killed && i.call != "close" {
		base := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(i.file), "."), ".tmp")
		if !regexp.MustCompile(causes[i.mishap]).MatchString(said) || !strings.Contains(said, base) && !strings.Contains(said, filepath.Base(filepath.Dir(i.file))) {
			t.Errorf("%v: status %d, but stderr does not name the file and the cause\n%s", i, status, said)
		}
	}
	if i.page != "" {
		b, err := os.ReadFile(filepath.Join(dir, i.page))
		complete := string(b) != old && bytes.HasSuffix(bytes.TrimRight(b, "\n"), []byte(i.end)) && (i.writer.name != "package" || unpacks(b))
		if err != nil || !complete && (status == 0 || string(b) != old) {
			t.Errorf("%v: status %d, and %s has %d bytes: %.100q, %v\n%s", i, status, i.page, len(b), b, err, said)
		}
		return true
	}
	i.again(t, dir, before, status)
	return true
}

// unpacks reports whether a compressed file is whole.
func unpacks(b []byte) bool {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err == nil {
		_, err = io.Copy(io.Discard, z)
	}
	return err == nil
}

// recordedIn returns the trials in the results below dir.
func recordedIn(dir string) (ids []string) {
	runs, err := store.Runs(dir)
	if err != nil {
		return nil
	}
	for _, run := range runs {
		c, _ := store.Read(run) // a run that has not begun has no trials
		for _, r := range c.Results {
			ids = append(ids, filepath.Base(run)+"/"+r.Trial)
		}
	}
	slices.Sort(ids)
	return ids
}

// again checks that a run that failed is complete, or continues to its end.
func (i injection) again(t *testing.T, dir string, before []string, status int) {
	t.Helper()
	out := filepath.Join(dir, "out")
	now := recordedIn(out)
	for _, id := range before {
		if !slices.Contains(now, id) {
			t.Errorf("%v: trial %s was lost", i, id)
		}
	}
	args := slices.Clone(i.args)
	if runs, err := store.Runs(out); err == nil && exists(filepath.Join(runs[0], "study.yaml")) {
		args = []string{"run", "--resume", "out"}
	}
	if status != 0 {
		p := &process{Cmd: weir("WEIR_TEST_MARK="+dir, args...)}
		p.Dir, p.Stderr = dir, &p.stderr
		_ = p.Run() // the status is checked
		if got := p.ProcessState.ExitCode(); got > 1 || got < 0 {
			t.Errorf("%v: status %d; then %v: status %d\n%s", i, status, args, got, &p.stderr)
		}
	}
	if ids := recordedIn(out); len(ids) != 2 || len(slices.Compact(ids)) != 2 {
		t.Errorf("%v: status %d; at the end it has the trials %v, want 2", i, status, ids)
	}
	runs, err := store.Runs(out)
	for _, run := range runs {
		if c, err := store.Read(run); err != nil || len(c.Problems) > 0 || !exists(filepath.Join(run, "report.html")) {
			t.Errorf("%v: %s: problems %v, %v; or no report", i, run, c.Problems, err)
		}
	}
	if err != nil {
		t.Errorf("%v: %v", i, err)
	}
}

// A sample of what make soak sweeps.
func TestInjected(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	from := begun(t)
	for _, i := range []injection{
		{writers[0], spot{"write", "out/results.jsonl"}, "error=ENOSPC", "1"},
		{writers[0], spot{"openat", "out/.study.yaml.tmp"}, "error=EMFILE", "1"},
		{writers[0], spot{"fsync", "out/.study.yaml.tmp"}, "signal=KILL", "1"},
		{writers[2], spot{"fsync", "out/results.jsonl"}, "error=EIO", "1"},
		{writers[2], spot{"write", "out/.report.html.tmp"}, "retval=0", "1"},
		{writers[3], spot{"write", ".page.html.tmp"}, "error=ENOSPC", "1"},
		{writers[3], spot{"write", "page.html"}, "error=ENOSPC", "1"}, // must not happen, or leave the old page
		{writers[7], spot{"write", ".page.bib.tmp"}, "error=EIO", "1"},
		{writers[8], spot{"fsync", ".page.xml.tmp"}, "error=EIO", "1"},
		{writers[9], spot{"renameat", ".page.csv.tmp"}, "error=ENOSPC", "1"},
	} {
		if !i.inject(t, from) && i.file != "page.html" {
			t.Errorf("%v: did not happen", i)
		}
	}
}
