package strictyaml

import (
	"runtime"
	"strings"
	"testing"
)

// What a file takes in memory has a bound also if it only nests.
func TestDeep(t *testing.T) {
	for name, s := range map[string]string{"lists": strings.Repeat("[", 60_000), "mappings": strings.Repeat("{a: ", 15_000), "entries": "a:\n" + strings.Repeat("- ", 30_000)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse([]byte(s))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "nested more than 50 levels deep") {
			t.Errorf("%s: %v", name, err)
		}
		if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 64 {
			t.Errorf("%s: %d MB", name, mb)
		}
	}
	if _, err := Parse([]byte(strings.Repeat("[", 50) + strings.Repeat("]", 50))); err != nil {
		t.Error(err)
	}
}

// What parses is written on one line that reads back as the same value.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a: 1\nb: [x, {c: null}]\n", "- a\n- 'b # c'\n", "a: |\n  two\n  lines\n", "---\nx\n...\n", "&a {b: *a}", "? [k]\n: v\n", "\"\\u0000\"",
		"a: !!int 7", "<<: {a: 1}", "[[[[]]]]", "a: >-\n\n  b\n", "\ufeffa", "%YAML 1.2\n---\na"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		n, bad := Parse(src)
		switch {
		case bad != nil && (n != nil || bad.Err == nil):
			t.Fatalf("%v and %+v", bad, n)
		case bad != nil || n == nil || len(src) > MaxSource/20: // what is long may be too long when it is quoted
			return
		}
		line := n.Flow()
		again, err := ParseFlow(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if got := again.Flow(); got != line {
			t.Errorf("%s reads back as %s", line, got)
		}
	})
}
