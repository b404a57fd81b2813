package cli

import (
	"maps"
	"slices"
	"testing"
)

func TestPrivateArgs(t *testing.T) {
	files, commands, err := privateArgs([]string{"a.conf=x=1\n", "b=", "c:3", "--", "/bin/one", "-v", "--", "/bin/two"})
	if err != nil || !maps.Equal(files, map[string]string{"a.conf": "x=1\n", "b": "", "c": "xxx"}) || len(commands) != 2 ||
		!slices.Equal(commands[0], []string{"/bin/one", "-v"}) || !slices.Equal(commands[1], []string{"/bin/two"}) {
		t.Errorf("%q, %q, %v", files, commands, err)
	}
	for _, wrong := range [][]string{nil, {"--"}, {"a=b"}, {"../a=b", "--", "x"}, {"a", "--", "x"}, {"a:-1", "--", "x"}, {"--", "x", "--"}} {
		if files, commands, err := privateArgs(wrong); err == nil {
			t.Errorf("%q: files %q, commands %q, want an error", wrong, files, commands)
		}
	}
}
