package agent

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
)

// What one message takes in memory has a bound, whatever it is full of.
func TestBoundedMessages(t *testing.T) {
	fill := func(before, each, after string) string {
		return before + strings.Repeat(each+",", (maxMessage-1000)/(len(each)+1)) + each + after
	}
	for name, line := range map[string]string{
		"links":     fill(`{"id":1,"answer":{"links":[`, `{}`, `]}}`),
		"CPUs":      fill(`{"id":1,"answer":{"cpus":[`, `1`, `]}}`),
		"missing":   fill(`{"id":1,"reading":{"missing":[`, `""`, `]}}`),
		"deep":      `{"id":1,"answer":{"facts":` + strings.Repeat(`[`, 5000),
		"few links": `{"id":1,"answer":{"links":[` + strings.Repeat(`{},`, maxLinks) + `{}]}}`,
		"few CPUs":  `{"id":1,"answer":{"cpus":[` + strings.Repeat(`1,`, maxCPUs) + `1]}}`,
		"a name":    `{"id":1,"answer":{"host":"` + strings.Repeat("x", maxPlain) + `"}}`,
	} {
		least := uint64(math.MaxUint64) // what other tests left running allocates, too
		for range 3 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var m message
			err := NewReader(bytes.NewReader([]byte(line + "\n"))).Read(&m)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, ErrMessage) || len(err.Error()) > 300 {
				t.Errorf("%s: %.400v", name, err)
			}
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		if least > 64<<20 { // the buffer doubles up to the line
			t.Errorf("%s: %d bytes", name, least)
		}
	}
	// So have those that wait for a program's output to be taken.
	line := `{"id":1,"reading":{"counters":{"a":1` + strings.Repeat(`,"b":1`, maxValues/3) + "}}}\n"
	in, queued := newInbox(), 0
	for held := 0; held <= maxUnread; queued += len(line) {
		var m message
		if err := NewReader(strings.NewReader(line)).Read(&m); err != nil || queued > maxUnread {
			t.Fatalf("%d bytes of readings wait: %v", queued, err)
		}
		held = in.put(m)
	}
	var m message
	file := `{"id":1,"answer":{"file":"` + strings.Repeat("AAAA", maxFile/3) + `"}}` + "\n"
	if err := NewReader(strings.NewReader(file)).Read(&m); err != nil || len(m.Answer.File) != maxFile/3*3 {
		t.Errorf("a file of the largest size: %v", err)
	}
}
