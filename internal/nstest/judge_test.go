package nstest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A verdict is how a test would have ended.
type verdict struct {
	testing.TB
	says string
}

func (v *verdict) Helper()                          {}
func (v *verdict) Skipf(format string, args ...any) { v.says = "skip: " + fmt.Sprintf(format, args...) }
func (v *verdict) Fatalf(format string, args ...any) {
	v.says = "fail: " + fmt.Sprintf(format, args...)
}

// Only a machine that was busy during the test excuses it, not one that was busy before.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		waits, of time.Duration
		err       error
		want      string
	}{
		{8 * time.Second, 10 * time.Second, nil, "skip: busy: some program waited for one of "},
		{7 * time.Second, 10 * time.Second, nil, "fail: 9 of 10"},
		{0, time.Second, nil, "fail: 9 of 10"},
		{time.Second, time.Second, errors.New("no such file"), "fail: 9 of 10"},
	} {
		synctest.Test(t, func(t *testing.T) {
			total, v := time.Hour, &verdict{}
			fail := judge(v, func() (time.Duration, error) { return total, c.err })
			total += c.waits
			time.Sleep(c.of)
			if fail("%d of %d", 9, 10); !strings.HasPrefix(v.says, c.want) || !strings.HasSuffix(v.says, "9 of 10") {
				t.Errorf("%v of %v, %v: %q, want %q", c.waits, c.of, c.err, v.says, c.want)
			}
		})
	}
	before, err := waited()
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("not supported by this kernel: /proc/pressure/cpu")
	}
	if after, also := waited(); err != nil || also != nil || before <= 0 || after < before {
		t.Errorf("programs waited for %v, then %v: %v, %v", before, after, err, also)
	}
}
