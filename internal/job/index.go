package job

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/several"
	"github.com/weir-bench/weir/internal/store"
)

const (
	indexFile = "index.html"
	indexMark = "<!-- weir index -->" // of the files that weir may replace
	// IndexDepth is how far below a directory its runs are.
	IndexDepth = 8
)

// Index writes a page of all runs below a directory into it. It returns the file, and how many runs there are.
func Index(dir string, l *lang.Language) (file string, runs int, _ error) {
	all, err := findRuns(dir)
	if err != nil {
		return "", 0, err
	}
	file = filepath.Join(dir, indexFile)
	if err := ours(file); err != nil {
		return "", 0, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", 0, failure.Environment.Of(err)
	}
	page := several.Index(filepath.Base(abs), all)
	page.Lang = l
	var b bytes.Buffer
	if err := render.HTML(&b, page); err != nil {
		return "", 0, err
	}
	marked := bytes.Replace(b.Bytes(), []byte("\n"), []byte("\n"+indexMark+"\n"), 1)
	return file, len(all), failure.Environment.Of(store.WriteFile(file, marked))
}

// ours returns an error unless the file can be written: it is missing, or an index that weir wrote.
func ours(file string) error {
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return failure.Environment.Of(err)
	}
	if info.Mode().IsRegular() {
		f, err := foreign.Open(file, math.MaxInt64)
		if err != nil {
			return failure.Environment.Of(err)
		}
		defer f.Close()
		b := make([]byte, 200)
		n, _ := f.ReadAt(b, 0) // less than a whole buffer is io.EOF
		if bytes.Contains(b[:n], []byte(indexMark)) {
			return nil
		}
	}
	return failure.Usage.Errorf("%s is not an index that weir wrote: move it, or index another directory", file)
}

// findRuns returns the runs and series below a directory.
func findRuns(root string) (all []several.Indexed, _ error) {
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, failure.Usage.Errorf("cannot index %s: it is not a directory that can be read", root)
	}
	real, err := filepath.EvalSymlinks(root) // WalkDir follows no symbolic link
	if err != nil {
		return nil, failure.Environment.Of(err)
	}
	err = filepath.WalkDir(real, func(dir string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(real, dir)
		if err != nil {
			all = append(all, several.Indexed{Dir: filepath.ToSlash(rel), Problem: err.Error()})
			return fs.SkipDir
		}
		if !e.IsDir() {
			return nil
		}
		runs, err := store.Runs(dir)
		_, planned := store.ReadSeries(dir)
		if err == nil || !errors.Is(planned, fs.ErrNotExist) {
			x := indexed(dir, runs, err)
			x.Dir = filepath.ToSlash(rel)
			all = append(all, x)
			return fs.SkipDir
		}
		if rel != "." && strings.Count(rel, string(os.PathSeparator))+1 >= IndexDepth {
			return fs.SkipDir
		}
		return nil
	})
	return all, err
}

// indexed reads the runs of a directory, without their samples and observations.
func indexed(dir string, runs []string, err error) several.Indexed {
	_, missing := os.Stat(filepath.Join(dir, "report.html"))
	reported := missing == nil
	first := lang.Text("") // problem
	problem := func(t lang.Text) { first = cmp.Or(first, t) }
	if err != nil {
		problem(lang.Stored(err.Error()))
	}
	if s, err := store.ReadSeries(dir); err == nil && len(runs) < s.Runs {
		problem(lang.T("%d of %d runs have begun; weir run --resume continues", len(runs), s.Runs))
	}
	var all []*account.Account
	for _, run := range runs {
		rep, err := read(run, account.Options{Depth: account.Numbers})
		if err != nil {
			problem(lang.Stored(err.Error()))
			continue
		}
		all = append(all, rep)
		switch done := len(rep.Results); {
		case rep.Unpaired:
		case done == 0:
			problem(lang.T("no trial has ended"))
		case done < rep.Planned:
			problem(lang.T("%d of %d trials; weir run --resume continues", done, rep.Planned))
		case !reported:
			problem(lang.T("no report.html: the run has not ended, or was stopped; weir run --resume continues"))
		}
	}
	x := several.Entry(all)
	x.Reported, x.Problem = reported, string(first)
	return x
}
