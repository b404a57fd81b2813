package job

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/record"
)

// A series whose runs share no undisturbed cell fails as a check does: its command line is not to blame.
func TestSeriesWithoutPool(t *testing.T) {
	dir := t.TempDir() + "/runs"
	if err := store.CreateSeries(dir, store.Series{Runs: 2}); err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for n, network := range []string{"host", "bridge"} {
		dirs = append(dirs, store.RunDir(dir, n+1))
		d, err := store.Create(dirs[n])
		if err == nil {
			err = d.File("study.yaml", fmt.Appendf(nil, "networks: [%s]\nprobes: [udp-rr]\n", network))
		}
		if err == nil {
			err = d.Append(&record.Result{Format: record.Format, Trial: "b1", Block: 1, Status: record.OK, Start: time.Unix(1, 0), Elapsed: 1,
				Config: map[string]string{"network": network, "probe": "udp-rr"}, Values: []record.Value{{Name: "rtt.mean", Unit: "s", Value: 1e-5}}})
		}
		if err := errors.Join(err, d.Close()); err != nil {
			t.Fatal(err)
		}
	}
	d, err := store.OpenSeries(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s := series{runner: runner{RunOptions{Dir: dir, Caller: Caller{Tell: new(heard)}}}}
	if _, err := s.report(d, dirs); failure.Status(err) != int(failure.Check) {
		t.Errorf("%v", err)
	}
	if _, err := Document([]string{dir}, false); failure.Status(err) != int(failure.Check) || !strings.Contains(err.Error(), "weir report "+dirs[0]+" shows one run") {
		t.Errorf("its report: %v", err)
	}
}
