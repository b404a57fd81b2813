package strictyaml

import "testing"

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
