package prose

import (
	"testing"

	"github.com/weir-bench/weir/internal/lang"
)

// Names keep their case at the beginning of a sentence; words do not.
func TestNamesKeepTheirCase(t *testing.T) {
	for want, text := range map[string]lang.Text{
		"eth0 of h1 and h2 differ: mtu is 1500 and 9000.":        lang.T("%s of %s and %s differ: %s", "eth0", "h1", "h2", "mtu is 1500 and 9000"),
		"flanneld in h1 at 99 %.":                                lang.T("%s at %s", lang.T("%s in %s", lang.Text("flanneld"), "h1"), "99 %"),
		"Engine client in h1 at 99 %.":                           lang.T("%s at %s", lang.T("%s in %s", lang.T("engine client"), "h1"), "99 %"),
		"The receive buffer in h2p1 was full.":                   lang.T("the receive buffer in %s was full", "h2p1"),
		"A datagram costs 1 µs.":                                 lang.T("%s costs %s", lang.T("a datagram"), "1 µs"),
		"Stored in an older version.":                            "stored in an older version",
		"12 of 24 trials have no value: 12 of 12 of UDP failed.": lang.T("%d of %d trials have no value: %s", 12, 24, "12 of 12 of UDP failed"),
	} {
		if got := Sentence(text).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
