package nstest

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// overloaded is the share of a test's time in which some program waited for a CPU, from which on its measurements show
// nothing: the programs of a test alone leave gaps.
const overloaded = 0.8

// Judge begins to watch the machine. It returns what a test calls instead of t.Fatalf when its measurements are bad: on a
// machine that was too busy since to tell, the test is skipped, and says so. scripts/test runs such a test again, alone, and
// in CI believes it only on a machine that is busy by itself.
func Judge(t testing.TB) (fail func(format string, args ...any)) { return judge(t, waited) }

func judge(t testing.TB, waited func() (time.Duration, error)) (fail func(format string, args ...any)) {
	began := time.Now()
	before, err := waited()
	return func(format string, args ...any) {
		t.Helper()
		after, also := waited()
		share := float64(after-before) / float64(time.Since(began))
		if err != nil || also != nil || share < overloaded { // a kernel that counts no waits does not excuse anything
			t.Fatalf(format, args...)
		} else {
			t.Skipf("busy: some program waited for one of %d CPUs during %.0f %% of this test: %s", runtime.NumCPU(), 100*share, fmt.Sprintf(format, args...))
		}
	}
}

var someTotal = regexp.MustCompile(`(?m)^some .* total=([0-9]+)$`)

// waited returns the time since boot in which at least one program that could run had no CPU (Documentation/accounting/psi.rst).
func waited() (time.Duration, error) {
	b, err := os.ReadFile("/proc/pressure/cpu")
	if err != nil {
		return 0, err
	}
	m := someTotal.FindSubmatch(b)
	if m == nil {
		return 0, fmt.Errorf("no total in %q", b)
	}
	us, err := strconv.ParseInt(string(m[1]), 10, 64)
	return time.Duration(us) * time.Microsecond, err
}
