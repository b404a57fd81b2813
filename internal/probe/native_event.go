package probe

import (
	"fmt"
	"math"
	"strconv"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// A native collects the first thing that is wrong with a result of `weir engine`.
type native struct{ err error }

// parseNative decodes the result of a workload into r, a pointer to a type of package
// event. On an error r may be incomplete, and measured returns that error.
func parseNative(out Output, workload string, r any) *native {
	n := &native{}
	if err := event.Read(out.Client, workload, r); err != nil {
		n.fail("%w", err)
	}
	return n
}

func (n *native) fail(format string, args ...any) {
	if n.err == nil {
		n.err = fmt.Errorf("weir engine: "+format, args...)
	}
}

// require records that the result is impossible unless ok.
func (n *native) require(ok bool, format string, args ...any) {
	if !ok {
		n.fail("impossible: "+format, args...)
	}
}

// measured returns the values and settings, unless something was wrong: err, or a
// number that arithmetic made infinite.
func (n *native) measured(protocol string, h event.Head, values []record.Value, settings map[string]any) (Measured, error) {
	n.require(h.Window > 0, "window is 0 s")
	for _, v := range values {
		n.require(!math.IsNaN(v.Value) && !math.IsInf(v.Value, 0) && v.Value >= 0, "%s is %g %s", v.Name, v.Value, v.Unit)
	}
	if n.err != nil {
		return Measured{}, n.err
	}
	found := map[string]string{"tool": "weir engine", "size": strconv.Itoa(h.Size)}
	for name, v := range settings {
		found[name] = fmt.Sprint(v)
		if f, ok := v.(float64); ok {
			found[name] = strconv.FormatFloat(f, 'f', -1, 64)
		}
	}
	m := Measured{Values: values, Observed: found, Protocol: protocol}
	if protocol != "tcp" {
		m.Datagram = h.Size
	}
	return m, nil
}
