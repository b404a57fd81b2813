package engine

import (
	"errors"
	"testing"
)

func TestParseServer(t *testing.T) {
	for in, want := range map[string]string{"10.0.0.1": "10.0.0.1:5202", "10.0.0.1:7": "10.0.0.1:7", "fd00::1": "[fd00::1]:5202", "[fd00::1]:7": "[fd00::1]:7", "::ffff:10.0.0.1": "10.0.0.1:5202"} {
		if at, err := parseServer("run", in); err != nil || at.String() != want {
			t.Errorf("%q: %v, %v, want %s", in, at, err, want)
		}
	}
	for _, in := range []string{"", ":7", "server1", "10.0.0.1:", "10.0.0.1:65536", "[fd00::1]", "fe80::1%eth0", "[fe80::1%eth0]:1"} {
		if at, err := parseServer("run", in); !errors.Is(err, ErrUsage) {
			t.Errorf("%q: %v, %v, want a usage error", in, at, err)
		}
	}
}

func TestParseListen(t *testing.T) {
	for in, want := range map[string]string{
		"": "[::]:5202", ":7": "[::]:7", "10.0.0.1": "10.0.0.1:5202", "[::1]:0": "[::1]:0", "0.0.0.0:7": "0.0.0.0:7", "::1": "[::1]:5202",
	} {
		if at, err := parseListen(in); err != nil || at.String() != want {
			t.Errorf("%q: %v, %v, want %s", in, at, err, want)
		}
	}
}
