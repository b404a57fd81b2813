package job

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/study"
)

// Resumable returns the series in dir and its first run, or a series of one run if dir is a run.
func Resumable(dir string) (s store.Series, first string, err error) {
	s, err = store.ReadSeries(dir)
	if Started(dir) || errors.Is(err, fs.ErrNotExist) {
		return store.Series{Runs: 1}, dir, nil
	}
	if err != nil {
		return s, "", failure.Usage.Of(err)
	}
	runs, err := store.Runs(dir)
	if err != nil {
		return s, "", failure.Usage.Errorf("nothing to resume: %w", err)
	}
	return s, runs[0], nil
}

// StoredStudy returns the study of the run in dir.
func StoredStudy(dir string) (study.Study, error) {
	if _, err := os.Stat(filepath.Join(dir, "imported.json")); err == nil {
		return study.Study{}, failure.Usage.Errorf("%s: holds imported results, which no run can continue; add files with weir import -o %s FILE…", dir, dir)
	}
	file := filepath.Join(dir, "study.yaml")
	b, err := foreign.ReadFile(file, strictyaml.MaxSource)
	if err != nil {
		return study.Study{}, failure.Usage.Errorf("no run to resume in %s: %w", dir, err)
	}
	s, err := study.Load(b, file)
	return s, failure.Usage.Of(err)
}

// Started reports whether dir holds a run that can be resumed.
func Started(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "study.yaml"))
	return err == nil
}

// RanInVM reports whether the trials of the run in dir ran in a virtual machine.
func RanInVM(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "hosts", account.HostOfVM+".json"))
	return err == nil
}

// Finished reports whether the run in dir has its report and has measured all its trials: those that were skipped or
// failed are tried again.
func Finished(dir string) (bool, error) {
	if _, err := os.Stat(filepath.Join(dir, "report.html")); err != nil || !Started(dir) {
		return false, nil
	}
	d, err := store.Open(dir)
	if err != nil {
		return false, err
	}
	defer d.Close()
	s, err := StoredStudy(dir)
	if err != nil {
		return false, err
	}
	if n, err := d.Retry(); n > 0 || err != nil {
		return false, err
	}
	return experiment.Finished(s, catalog.Applies, d)
}

// runnable returns what this version can run of a shipped study, checked; with fast, its fast form.
func runnable(s study.Study, fast, keep bool) (study.Study, error) {
	s = catalog.Available(s)
	if fast {
		s = s.Faster()
	}
	s.KeepDisturbed = s.KeepDisturbed || keep
	return s, place.Check(s)
}
