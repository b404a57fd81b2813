package network

import (
	"fmt"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/topo"
)

const (
	maxHops  = 5
	maxDelay = time.Second
)

// line changes s to a line of hops hops with these delays, or the nearest allowed number.
func line(s topo.Spec, hops int, delay Delays) topo.Spec {
	s.Shape, s.Hosts, s.Delays = topo.Line, min(max(hops, 1), maxHops)+1, nil
	for i := range s.Hosts - 1 {
		s.Delays = append(s.Delays, delay.of(i))
	}
	return s
}

// checkLine returns an error unless t is a line with this number of hops that the delays fit.
func checkLine(name string, t topo.Topology, hops int, delay Delays) error {
	if err := checkRange(name, "hops", hops, 1, maxHops); err != nil {
		return err
	}
	if t.Shape != topo.Line || len(t.Hosts) != hops+1 {
		return fmt.Errorf("%s: needs a line of %d hosts, topology has %d hosts and shape %q", name, hops+1, len(t.Hosts), t.Shape)
	}
	if err := delay.check(name, hops); err != nil {
		return err
	}
	for i := range hops {
		if d := t.Segment(i).Delay - t.Distance.Delay; d != delay.of(i) {
			return fmt.Errorf("%s: needs a delay of %v on segment %d, topology has %v", name, delay.of(i), i+1, d)
		}
	}
	return nil
}

// nics returns the devices of h on the segments of t.
func nics(t topo.Topology, h topo.Host) []string {
	var devs []string
	for _, port := range slices.Concat(t.Segments...) {
		if port.In == h.Name {
			devs = append(devs, port.Dev)
		}
	}
	return devs
}

// Delays are the one-way delays of a line's segments: one for all, or one for each.
type Delays []time.Duration

// UnmarshalText parses one delay for all segments. YAML decodes a list without it.
func (ds *Delays) UnmarshalText(b []byte) error {
	d, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("invalid duration %q: write it as 1ms, or as [1ms, 2ms] with one for each segment", b)
	}
	*ds = Delays{d}
	return nil
}

func (ds Delays) check(name string, hops int) error {
	if len(ds) > 1 && len(ds) != hops {
		return fmt.Errorf("%s: %d delays, but hops is %d; give one for all segments, or one for each", name, len(ds), hops)
	}
	for _, d := range ds {
		if d < 0 || d > maxDelay || d%time.Microsecond != 0 {
			return fmt.Errorf("%s: invalid delay %v: want whole microseconds from 0 to %v", name, d, maxDelay)
		}
	}
	return nil
}

// of returns the delay of segment i, counting from 0; 0 if ds has none.
func (ds Delays) of(i int) time.Duration {
	switch {
	case len(ds) == 1:
		return ds[0]
	case i < len(ds):
		return ds[i]
	}
	return 0
}
