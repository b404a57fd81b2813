package job

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/record"
)

func sized(network string, block int, value float64) record.Result {
	return record.Result{Format: record.Format, Trial: fmt.Sprintf("b%03d-%s", block, network), Block: block, Status: record.OK,
		Config: map[string]string{"network": network, "probe": "tcp-stream"}, Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: value}},
		Start: time.Unix(int64(2*block), 0), Elapsed: 1}
}

func TestWatch(t *testing.T) {
	dir := t.TempDir()
	d, err := store.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	w := watcher{dir: dir}
	look := func() (done int, fresh bool) {
		t.Helper()
		if started, err := w.look(); err != nil || !started {
			t.Fatal(started, err)
		}
		return w.Done, w.Fresh
	}
	if _, fresh := look(); fresh { // before the study is written
		t.Error("there are results")
	}
	put("study.yaml", "name: x\nnetworks: [host, bridge]\nprobes: [tcp-stream]\nblocks: 10\nseed: 1\n")
	for b := 1; b <= 2; b++ {
		one, two := sized("host", b, 1e9), sized("bridge", b, 0.5e9)
		if err := d.Append(&one, &two); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(d.Log, "15:04:05.000 block %d: tcp-stream over bridge\n", b)
		if done, fresh := look(); done != 2*b || !fresh || w.Total != 20 {
			t.Errorf("%d of %d, fresh: %v", done, w.Total, fresh)
		}
		if done, fresh := look(); done != 2*b || fresh {
			t.Errorf("nothing is new: %d, %v", done, fresh)
		}
	}
	if w.Text != "block 2: tcp-stream over bridge" {
		t.Errorf("activity %q", w.Text)
	}
	if running, err := store.Running(dir); !running || err != nil {
		t.Errorf("running: %v, %v", running, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	var last Look
	show := func(l Look) { last = l }
	if _, err := Watch(t.Context(), dir, show); failure.Status(err) != int(failure.Environment) || !strings.Contains(err.Error(), "ended after 4 of 20 trials and without a report; continue with: weir run --resume "+dir) {
		t.Errorf("%v", err)
	}
	if !last.Last || last.Done != 4 {
		t.Errorf("%+v", last)
	}
	put("report.html", "")
	if report, err := Watch(t.Context(), dir, show); err != nil || report != filepath.Join(dir, "report.html") {
		t.Errorf("%s, %v", report, err)
	}
}

func TestPace(t *testing.T) {
	if got := pace([]record.Result{sized("a", 1, 0), sized("a", 2, 0), sized("a", 4, 0)}, 10); got != 30*time.Second {
		t.Errorf("pace %v", got)
	}
	if got := pace(nil, 10); got != 0 {
		t.Errorf("pace %v", got)
	}
}
