package job

import (
	"testing"

	"github.com/weir-bench/weir/internal/claim"
)

// weir asks for the programs of every claim before it measures one: no claim's study may stop it there.
func TestProgramsOfEveryClaimAreKnown(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	shipped, err := claim.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range shipped {
		if missing(c) != nil {
			continue
		}
		for _, fast := range []bool{false, true} {
			s, err := runnable(c.Study, fast, false)
			if err == nil {
				_, err = notInstalled(s, c)
			}
			if err != nil {
				t.Errorf("%s, fast %v: %v", c.ID, fast, err)
			}
		}
	}
}
