package probe

import (
	"runtime"
	"strings"
	"testing"
)

// An output takes memory in proportion to its bytes, however little its values say.
func TestBoundedOutputs(t *testing.T) {
	b := []byte(`{"start":{"version":"iperf 3.12"},"intervals":[` + strings.Repeat("{},", 5<<20) + `{}],"end":{}}`)
	for name, read := range map[string]func() error{
		"read":  func() error { _, err := Read(b, ""); return err },
		"parse": func() error { _, err := decodeIperf3(b); return err },
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		err := read()
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err == nil || !strings.Contains(err.Error(), "more than 3145728 values") || took > 64<<20 {
			t.Errorf("%s: %v, %d MiB for %d", name, err, took>>20, len(b)>>20)
		}
	}
}
