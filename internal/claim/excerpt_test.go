package claim

import (
	"encoding/json"
	"testing"
)

// Each shipped claim reads from its excerpt as from its source, alone.
func TestExcerpts(t *testing.T) {
	shipped, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range shipped {
		files, err := Excerpts([]string{want.ID})
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %d files, %v", want.ID, len(files), err)
		}
		for name, text := range files {
			all, err := Load(text, name, ShippedStudy)
			if err != nil || len(all) != 1 {
				t.Fatalf("%s: %d claims, %v:\n%s", want.ID, len(all), err, text)
			}
			if got, want := told(t, all[0]), told(t, want); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	}
	if files, err := Excerpts([]string{"no-such-claim"}); err != nil || len(files) > 0 {
		t.Errorf("%d files of no claim, %v", len(files), err)
	}
}

// told is all that a claim says, but not where.
func told(t *testing.T, c Claim) string {
	t.Helper()
	b, err := json.Marshal(c)
	study, bad := c.Study.Encode()
	if err != nil || bad != nil {
		t.Fatal(err, bad)
	}
	return string(b) + string(study)
}
