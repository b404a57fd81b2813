package study

import (
	"errors"
	"strings"
	"testing"
)

// What a file holds takes the place of its name; what is a histogram already stays.
func TestReadSizes(t *testing.T) {
	files := map[string]string{"sizes.txt": "100 3\n1000 1\n", "bad.txt": "root:x:0:0 1\n"}
	for option, want := range map[string]string{"sizes.txt": "100 3, 1000 1", "64 1, 128 2": "64 1, 128 2", "no.txt": "no such file", "bad.txt": "bad.txt: line 1: want bytes"} {
		u, err := ParseUse("{use: http-rr, name: mine, sizes: '" + option + "'}")
		if err != nil {
			t.Fatal(err)
		}
		s := Study{Probes: []Use{u}}
		err = s.ReadSizes(func(name string) ([]byte, error) {
			if text, ok := files[name]; ok {
				return []byte(text), nil
			}
			return nil, errors.New("no such file")
		})
		if err != nil {
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "root") {
				t.Errorf("%s: %v, want %q", option, err, want)
			}
			continue
		}
		var p struct{ Sizes string }
		if err := s.Probes[0].Decode(&p); err != nil || p.Sizes != want {
			t.Errorf("%s: %q, %v, want %q", option, p.Sizes, err, want)
		}
	}
}
