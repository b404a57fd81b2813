package bounds

import (
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
