package sock

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/wire"
)

func TestSettle(t *testing.T) {
	err := <-OnThread(func() error {
		var before, one, after unix.CPUSet
		unix.SchedGetaffinity(0, &before)
		for _, last := range []bool{false, true} {
			p, restore, err := Settle(last)
			if err != nil {
				return err
			}
			unix.SchedGetaffinity(0, &one)
			restore()
			unix.SchedGetaffinity(0, &after)
			if one.Count() != 1 || !one.IsSet(p.CPU) || after != before {
				return fmt.Errorf("settled on %v of %v, afterwards %v", one, before, after)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, tc := range []struct {
		a, b wire.Core
		ok   bool
	}{
		{wire.Core{Boot: "x", CPU: 0}, wire.Core{Boot: "x", CPU: 0}, false},
		{wire.Core{Boot: "x", CPU: 0}, wire.Core{Boot: "x", CPU: 1}, true},
		{wire.Core{Boot: "x", CPU: 0}, wire.Core{Boot: "y", CPU: 0}, true},
		{wire.Core{Boot: "", CPU: 0}, wire.Core{Boot: "", CPU: 0}, true}, // not known to be one machine
	} {
		if err := DistinctCPUs(tc.a, tc.b); (err == nil) != tc.ok {
			t.Errorf("%v and %v: %v", tc.a, tc.b, err)
		}
	}
}
