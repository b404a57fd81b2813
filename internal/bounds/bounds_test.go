package bounds

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestValues(t *testing.T) {
	for _, c := range []struct {
		json, want string
		most       int
	}{
		{`{"a":[1,2,{}],"b":"x,y:{[\"]}"}`, "", 9},
		{`{"a":[1,2,{}],"b":"x,y:{[\"]}"}`, "more than 8 values", 8},
		{"[" + strings.Repeat("{},", 1000) + "{}]", "more than 1000 values", 1000},
		{strings.Repeat("[", 101), "more than 100 levels", 1000},
		{`"\\","` + strings.Repeat(`\"`, 50), "", 2},
		{`"never closed \`, "", 1},
		{"", "", 1},
	} {
		err := Values([]byte(c.json), c.most)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%.40s: %v, want %q", c.json, err, c.want)
		}
	}
}

func TestList(t *testing.T) {
	list := `{"kind":"List","items":[{"a":[1,2,3,4]},{},{}]}`
	for items, want := range map[int]string{3: "", 2: "more than 2 objects"} {
		if err := List([]byte(list), 100, items); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%d: %v, want %q", items, err, want)
		}
	}
}

// What Values admits has at most so many values once it is decoded.
func FuzzValues(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,{}],"b":"x,y:{[\"]}"}`), 9)
	f.Add([]byte(`[[],"\\",{"":null}]`), 5)
	f.Fuzz(func(t *testing.T, b []byte, most int) {
		if !json.Valid(b) || Values(b, most) != nil {
			return
		}
		n := 0
		for d := json.NewDecoder(bytes.NewReader(b)); ; {
			v, err := d.Token()
			if err != nil {
				break
			}
			if v != json.Delim('}') && v != json.Delim(']') {
				n++
			}
		}
		if n > most {
			t.Errorf("%d values in %q, admitted as at most %d", n, b, most)
		}
	})
}
