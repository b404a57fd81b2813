package section

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/doc"
)

// A host's settings are a table; facts of versions that recorded none have no such part.
func TestSettings(t *testing.T) {
	for _, c := range []struct{ name, facts, want string }{
		{"some", `{"cpus":2,"settings":{"vm.b":{"value":"7","default":"0"},"net.a":{"value":"x","default":"y or z"}}}`, "net.a x y or z; vm.b 7 0"},
		{"none", `{"cpus":2,"settings":{}}`, "None of the settings that are known to move results."},
		{"an older version", `{"cpus":2}`, ""},
		{"nothing recorded", `{"cpus":2,"settings":null}`, ""},
		{"odd", `{"cpus":2,"settings":{"a":1}}`, "a <nil> <nil>"},
		{"no object", `["settings"]`, ""},
	} {
		got := ""
		for _, part := range hosts(map[string][]byte{"h": []byte(c.facts)})[0].Parts {
			if part = lang.In(nil, part); part.Title == "all facts" {
				for _, f := range part.Facts {
					if strings.HasPrefix(f.Key, "settings") {
						t.Errorf("%s: listed twice: %v", c.name, f)
					}
				}
				continue
			}
			var rows []string
			for _, table := range part.Tables {
				for _, r := range table.Rows {
					var cells []string
					for _, x := range r.Cells {
						cells = append(cells, doc.English(x.Text))
					}
					rows = append(rows, strings.Join(cells, " "))
				}
			}
			if got = strings.Join(rows, "; "); rows == nil {
				got = doc.English(part.About)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
