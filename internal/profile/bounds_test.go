package profile

import (
	"bytes"
	"compress/gzip"
	"runtime"
	"strings"
	"testing"
)

// A profile takes memory in proportion to its bytes, of which two can be a sample without frames.
func TestBoundedProfile(t *testing.T) {
	for name, text := range map[string]string{
		"samples":   strings.Repeat("\x12\x00", 8<<20),
		"locations": strings.Repeat("\x22\x00", 8<<20),
		"functions": strings.Repeat("\x2a\x00", 8<<20),
		"lines":     "\x22\x80\x80\x80\x04" + strings.Repeat("\x22\x00", 4<<20),
		"strings":   strings.Repeat("\x32\x00", 8<<20),
	} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		_, err := Parse(packed.Bytes())
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 128<<20 {
			t.Errorf("%s: %v, %d MiB for %d", name, err, took>>20, len(text)>>20)
		}
	}
}
