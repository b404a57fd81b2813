package prose

import (
	"strings"
	"testing"
)

func TestReason(t *testing.T) {
	const step = "step 23 of 23, in h1: "
	long := "tc qdisc add dev eth0 root handle 1: netem limit 1000000000000000000000 delay 10ms"
	for why, want := range map[string]string{
		"":                             "",
		"no route":                     "no route",
		step + "tc: exit status 1: no": step + "tc: exit status 1: no",
		step + long + `: exit status 1: Illegal "limit"`:                                                      step + `exit status 1: Illegal "limit"`,
		step + long + ": exit status 1: " + strings.Repeat("é", 90):                                           step + "exit status 1: " + strings.Repeat("é", 43) + "…",
		"client: no packet of 1450 bytes came back within 5s (293 tries): saw neither an error nor an answer": "client: no packet of 1450 bytes came back within 5s (293 tries) …",
		strings.Repeat("x", 81):       strings.Repeat("x", 80) + "…",
		long + ", which says nothing": long[:strings.LastIndex(long, " ")] + "…",
	} {
		if got := Reason(why, 80); got != want {
			t.Errorf("%q\ngot  %q\nwant %q", why, got, want)
		}
	}
}
