package bisection

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/bisect"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/vm"
	"github.com/weir-bench/weir/record"
)

// fakeGuests boots kernels of its imagination: the value falls by 10 % with the kernel number at, and broken does not boot.
type fakeGuests struct {
	at, broken int
	boots      int
	stop       func(boots int) error
}

func (g *fakeGuests) run(_ context.Context, _ string, k bisect.Kernel) (*account.Account, error) {
	g.boots++
	if g.stop != nil {
		if err := g.stop(g.boots); err != nil {
			return nil, err
		}
	}
	var n int
	if _, err := fmt.Sscanf(k.Version, "6.%d", &n); err != nil {
		return nil, err
	}
	if n == g.broken {
		return nil, vm.Lost{Why: errors.New("the guest did not start"), Console: "Linux\nKernel panic - not syncing: VFS"}
	}
	value := 1000.0 * (1 + 0.002*float64(g.boots%5))
	if n >= g.at {
		value *= 0.9
	}
	c := account.Contents{}
	for block := range 2 {
		c.Results = append(c.Results, record.Result{Trial: fmt.Sprintf("b%03d-host-tcp-rr", block+1), Block: block + 1, Status: record.OK,
			Config: map[string]string{"network": "host", "probe": "tcp-rr"}, Values: []record.Value{{Name: record.Transactions, Value: value, Unit: "1/s"}}})
	}
	return account.Of(c), nil
}

func kernelSearch(t *testing.T, g *fakeGuests, dir string) *bisection {
	t.Helper()
	s := study.Default()
	s.Networks, s.Probes = []study.Use{{Kind: "host"}}, []study.Use{{Kind: "tcp-rr"}}
	o := Options{Study: s.Resolve(), Certainty: 0.95, Least: 0.025, Dir: dir, Guests: &bisect.Guests{CPUs: 1, Memory: 1 << 28, Pairs: 6}}
	o.Tell = quiet{}
	for n := range 8 {
		image := filepath.Join(filepath.Dir(dir), fmt.Sprint("vmlinuz-", n))
		if err := os.WriteFile(image, []byte(fmt.Sprint("kernel ", n)), 0o666); err != nil {
			t.Fatal(err)
		}
		hash, err := hashOf(image)
		if err != nil {
			t.Fatal(err)
		}
		o.Guests.Kernels = append(o.Guests.Kernels, bisect.Kernel{Version: fmt.Sprintf("6.%d", n), Image: image, Hash: hash})
	}
	b := &bisection{Options: o, guest: g.run}
	t.Cleanup(func() { b.lock.Close() })
	return b
}

// The kernel that made it slower is found although one before it does not boot, and a search that was interrupted goes on.
func TestBisectKernels(t *testing.T) {
	g := &fakeGuests{at: 5, broken: 3}
	dir := filepath.Join(t.TempDir(), "search")
	errStop := errors.New("stop")
	g.stop = func(boots int) error {
		if boots == 20 {
			return errStop
		}
		return nil
	}
	b := kernelSearch(t, g, dir)
	if err := b.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.loop(t.Context()); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	b.lock.Close()
	again := kernelSearch(t, g, dir)
	again.Dir, again.Resume, again.Guests = "", dir, nil
	if err := again.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := again.loop(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := again.out
	if out.Verdict != bisect.Found || out.First != out.Last || out.Name(out.Last) != "6.5" || out.Change.Center > 0.92 {
		t.Errorf("%s %s..%s, %v", out.Verdict, out.Name(out.First), out.Name(out.Last), out.Change)
	}
	if why := out.Commits[2].Skipped; why != "" && !strings.Contains(why, "its last words: Kernel panic - not syncing: VFS") {
		t.Error(why)
	}
	if page, err := os.ReadFile(filepath.Join(dir, pageFile)); err != nil || !strings.Contains(string(page), "6.5") {
		t.Errorf("page: %v", err)
	}
}

// Where nothing changes, no kernel is blamed; and nothing is compared with a BAD that does not boot.
func TestNoKernel(t *testing.T) {
	b := kernelSearch(t, &fakeGuests{at: 99, broken: 99}, filepath.Join(t.TempDir(), "search"))
	if err := errors.Join(b.begin(t.Context()), b.loop(t.Context())); err != nil || b.out.Verdict != bisect.None {
		t.Errorf("%s, %v", b.out.Verdict, err)
	}
	b = kernelSearch(t, &fakeGuests{at: 99, broken: 7}, filepath.Join(t.TempDir(), "search"))
	if err := errors.Join(b.begin(t.Context()), b.loop(t.Context())); err == nil || !strings.Contains(err.Error(), "BAD, 6.7, cannot be measured") || !strings.Contains(err.Error(), "Kernel panic") {
		t.Error(err)
	}
	changed := kernelSearch(t, &fakeGuests{at: 99, broken: 99}, filepath.Join(t.TempDir(), "search"))
	if err := changed.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed.Guests.Kernels[0].Image, []byte("another"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := changed.loop(t.Context()); err == nil || !strings.Contains(err.Error(), "has changed since the search began") {
		t.Error(err)
	}
}
