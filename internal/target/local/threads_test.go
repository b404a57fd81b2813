package local

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/sample"
)

// A host reads its threads with other sources, at one moment of its clock, until it forgets them.
func TestSampleOfThreads(t *testing.T) {
	h := Host()
	own := fmt.Sprintf("task.%d.", os.Getpid())
	threads := func(source string) (n int) {
		t.Helper()
		r, err := h.Sample(t.Context(), source, sample.OfStat)
		if err != nil || len(r.Missing) > 0 || r.Counters.CPUs() == 0 || r.At <= 0 {
			t.Fatalf("%s: %+v, %v", source, r, err)
		}
		for key := range r.Counters {
			if strings.HasPrefix(key, own) {
				n++
			}
		}
		return n
	}
	if n := threads(sample.OfThreads); n > 0 {
		t.Errorf("%d threads before a search", n)
	}
	threads(sample.FindThreads)
	for threads(sample.NewThreads) == 0 { // until it has used more than others
	}
	if n := threads(sample.OfThreads); n == 0 {
		t.Error("this process is gone")
	}
	if _, err := h.Sample(t.Context(), sample.ForgetThreads); err != nil {
		t.Error(err)
	}
	if n := threads(sample.OfThreads); n > 0 {
		t.Errorf("%d threads after they were forgotten", n)
	}
}
