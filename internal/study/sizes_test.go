package study

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// What a file holds takes the place of its name; what is a histogram already stays.
func TestReadSizes(t *testing.T) {
	files := map[string]string{"sizes.txt": "100 3\n1000 1\n", "bad.txt": "root:x:0:0 1\n"}
	for option, want := range map[string]string{"sizes.txt": "100 3, 1000 1", "64 1, 128 2": "64 1, 128 2", "no.txt": "no such file", "bad.txt": "bad.txt: line 1, (no number) 1: want bytes (1 to 1048576)", "64 1, 0 2": `"64 1, 0 2": line 2, 0 2: want bytes (1 to 1048576) and their weight (1 to 1000000000)`} {
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

// Levels of the factor sizes are files too, and comparisons of them name the same levels.
func TestReadSizesOfLevels(t *testing.T) {
	files := map[string]string{"a.txt": "100 3", "b.txt": "1000 1\n64 2", "long.txt": strings.Repeat("1000 1\n", 40)}
	read := func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, errors.New("no such file")
	}
	s := Study{Factors: map[string][]string{"sizes": {"a.txt", "b.txt", "5 1"}, "rate": {"a.txt"}}, Compare: []Contrast{
		{Of: Levels{"sizes": {"b.txt"}}, To: map[string]string{"sizes": "a.txt"}}}}
	shared := s
	if err := s.ReadSizes(read); err != nil {
		t.Fatal(err)
	}
	if got := s.Factors["sizes"]; !slices.Equal(got, []string{"100 3", "1000 1, 64 2", "5 1"}) || s.Factors["rate"][0] != "a.txt" {
		t.Errorf("levels %q, rate %q", got, s.Factors["rate"])
	}
	if got := s.Compare[0].String(); got != `{of: {sizes: "1000 1, 64 2"}, to: {sizes: 100 3}}` {
		t.Error(got)
	}
	if shared.Factors["sizes"][0] != "a.txt" || shared.Compare[0].To["sizes"] != "a.txt" {
		t.Error("a copy of the study changed too")
	}
	for level, want := range map[string]string{"no.txt": "factor sizes: no such file; name a file", "long.txt": "has 318 bytes, and a level at most 256", "0 1": `factor sizes: "0 1": line 1, 0 1: want bytes (1 to 1048576)`} {
		s := Study{Factors: map[string][]string{"sizes": {level}}}
		if err := s.ReadSizes(read); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", level, err, want)
		}
	}
}
