package section

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/record"
)

var results = flag.String("results", "", "directory of a run, whose trials BenchmarkRead repeats")

// BenchmarkRead reads a results directory with its raw files and writes its page, as weir report does:
//
//	weir run --fast -o /tmp/run
//	go test ./internal/report/section -run - -bench Read -benchtime 1x -results /tmp/run
func BenchmarkRead(b *testing.B) {
	if *results == "" {
		b.Skip("no run: give one with -results")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(50)) // as the commands do with large results
	for _, trials := range []int{672, 18000, 100000} {
		b.Run(fmt.Sprint(trials), func(b *testing.B) {
			dir := repeatedRun(b, *results, trials)
			debug.FreeOSMemory()
			_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // resets VmHWM (proc(5))
			user, system := used(b)
			for b.Loop() {
				a, err := account.Read(dir, account.Options{Depth: account.Inside})
				if err != nil || len(a.Results) != trials || len(a.Evidence) != trials {
					b.Fatalf("%v, evidence of %d of %d results; %v", err, len(a.Evidence), len(a.Results), a.Problems)
				}
				if err := render.HTML(io.Discard, Report(a)); err != nil {
					b.Fatal(err)
				}
			}
			userAfter, systemAfter := used(b)
			b.ReportMetric((userAfter-user)/float64(b.N), "s-user")
			b.ReportMetric((systemAfter-system)/float64(b.N), "s-system")
			status, _ := os.ReadFile("/proc/self/status")
			var peak float64
			_, at, _ := strings.Cut(string(status), "VmHWM:")
			_, _ = fmt.Sscan(at, &peak)
			b.ReportMetric(peak/1024, "MiB-peak")
		})
	}
}

// used returns the CPU time of this process, s.
func used(t testing.TB) (user, system float64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return float64(u.Utime.Nano()) / 1e9, float64(u.Stime.Nano()) / 1e9
}

// repeatedRun copies a run and repeats its trials, with noise and with what they observed.
func repeatedRun(t testing.TB, from string, trials int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	stored, err := store.Read(from)
	check(err)
	check(os.CopyFS(dir, os.DirFS(from)))
	last := stored.Results[len(stored.Results)-1]
	period := last.Start.Sub(stored.Results[0].Start) + time.Minute
	rnd := rand.New(rand.NewPCG(20240607, 5))
	var lines bytes.Buffer
	for n := range trials {
		x, again := stored.Results[n%len(stored.Results)], n/len(stored.Results)
		rename := func(trial string) string { return fmt.Sprintf("r%04d-%s", again, trial) }
		y := x
		y.Trial, y.Block, y.Start = rename(x.Trial), x.Block+again*last.Block, x.Start.Add(time.Duration(again)*period)
		y.Values = slices.Clone(x.Values)
		for i := range y.Values {
			y.Values[i].Value *= math.Exp(0.01 * rnd.NormFloat64())
		}
		check(record.Write(&lines, &y))
		check(os.Mkdir(filepath.Join(dir, "raw", y.Trial), 0o777))
		for _, name := range []string{store.EvidenceFile, store.SettingsFile} {
			b, err := os.ReadFile(filepath.Join(from, "raw", x.Trial, name))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			check(err)
			b = regexp.MustCompile(`"settings":"(.*)"`).ReplaceAllFunc(b, func(m []byte) []byte {
				return fmt.Appendf(nil, `"settings":%q`, rename(strings.Split(string(m), `"`)[3]))
			})
			check(os.WriteFile(filepath.Join(dir, "raw", y.Trial, name), b, 0o666))
		}
	}
	check(os.WriteFile(filepath.Join(dir, "results.jsonl"), lines.Bytes(), 0o666))
	return dir
}
