package doc

import (
	"strings"
	"testing"
)

// Names that differ only in characters that a slug drops still get different IDs.
func TestIdentitiesOfHostileNames(t *testing.T) {
	ss := []Section{{ID: "a b"}, {ID: "a/b", Tables: []Table{{ID: "A b"}}}, {ID: "日本"}, {ID: "本日"}}
	(&Document{Sections: ss}).Identify()
	got := []string{ss[0].ID, ss[1].ID, ss[1].Tables[0].ID, ss[2].ID, ss[3].ID}
	if want := "a-b a-b-2 a-b-3 section-part section-part-2"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}
