package record_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/weir-bench/weir/record"
)

// A line takes memory in proportion to its bytes, and its error does not repeat it.
func TestBoundedLines(t *testing.T) {
	for name, line := range map[string]string{
		"empty values": `{"format":2,"values":[` + strings.Repeat("{},", 5<<20) + `{}]}`,
		"a long time":  `{"format":2,"start":"` + strings.Repeat("A\x01", 3<<20) + `"}`,
		"a long start": `{"format":2,"start":"` + strings.Repeat("A", 3<<20) + `"}`,
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		n := 0
		for _, err := range record.All(strings.NewReader(line+"\n"), "f") {
			if n++; err == nil || len(err.Error()) > 400 {
				t.Errorf("%s: %.500v", name, err)
			}
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; n != 1 || took > 128<<20 {
			t.Errorf("%s: %d results, %d MiB for %d", name, n, took>>20, len(line)>>20)
		}
	}
}
