package engine

import (
	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// own returns what both ends used in the window. An end that could not read its clock has nothing.
func own(client, server wire.Reading, tcp bool) (o event.Own) {
	o.ClientTime, o.ClientWait, o.ClientTCP = used(client, tcp)
	o.ServerTime, o.ServerWait, o.ServerTCP = used(server, tcp)
	return o
}

func used(r wire.Reading, tcp bool) (cpu float64, wait *float64, t *event.TCP) {
	if r.CPU == 0 {
		return 0, nil, nil
	}
	if r.RunDelay >= 0 {
		s := seconds(r.RunDelay)
		wait = &s
	}
	if tcp {
		t = connection(r.TCP)
	}
	return seconds(r.CPU), wait, t
}

func connection(t wire.TCP) *event.TCP {
	return &event.TCP{Busy: float64(t.Busy) / 1e6, RwndLimited: float64(t.RwndLimited) / 1e6, SndbufLimited: float64(t.SndbufLimited) / 1e6,
		SegmentsOut: float64(t.SegmentsOut), Retransmitted: float64(t.Retransmitted), Duplicates: float64(t.Duplicates), Reordered: float64(t.Reordered), Window: float64(t.Window)}
}
