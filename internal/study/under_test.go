package study

import (
	"maps"
	"strings"
	"testing"
)

// The conditions of one network come from a file, a stored study and WithUnder alike.
func TestUnder(t *testing.T) {
	s, err := Load([]byte("networks:\n  - {use: host, under: {mtu: 9000, gro: \"on\"}}\n  - use: host\n    under: [mtu]\nprobes: [p]\n"), "f")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"mtu": "9000", "gro": "on"}
	for name, u := range map[string]Use{"file": s.Networks[0], "set": Use{Kind: "host"}.WithUnder(want)} {
		if got, err := u.Under(); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if typed, err := ParseUse(u.String()); err != nil || typed.Options[UnderKey] != u.Options[UnderKey] {
			t.Errorf("%s: typed as %s: %v, %v", name, u, typed.Options, err)
		}
	}
	if got, err := s.Networks[0].WithUnder(nil).Under(); got != nil || err != nil {
		t.Errorf("without: %v, %v", got, err)
	}
	if _, err := s.Networks[1].Under(); err == nil || !strings.Contains(err.Error(), "f:4: host: under must be levels by condition") {
		t.Errorf("a list: %v", err)
	}
}
