package tally

import (
	"fmt"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// Silence is the longest time without an arrival, of a window that lasted so many
// nanoseconds. The server's clock shows neither end of the window: it begins with
// the request to count, less than a round trip early, and lasts as long as the
// client's.
func Silence(r wire.UDPReport, window int64) int64 {
	return max(r.Silence, min(r.Wait, window), window-r.Wait-r.Span)
}

// Received returns how many of the datagrams that were sent in mode m reached the
// server's socket, and refuses a report that cannot be true. The client made requests
// of its own, asked in all.
func Received(m event.Mode, asked int, sent int64, r wire.UDPReport) (int64, error) {
	switch {
	case r.Error != "":
		return 0, fmt.Errorf("the server's count: %s", r.Error)
	case r.Span < 0 || r.Jitter < 0:
		return 0, fmt.Errorf("impossible: arrivals over %d ns, jitter %g ns", r.Span, r.Jitter)
	case r.Delivered > sent:
		return 0, fmt.Errorf("impossible: %d datagrams delivered of %d sent", r.Delivered, sent)
	case r.Bytes != r.Delivered*int64(m.Size):
		return 0, fmt.Errorf("impossible: %d bytes in %d datagrams of %d", r.Bytes, r.Delivered, m.Size)
	case r.Reads < 0 || r.Reads > r.Buffers || r.Buffers > r.Delivered+r.Duplicates:
		return 0, fmt.Errorf("impossible: %d datagrams and %d duplicates in %d buffers and %d reads", r.Delivered, r.Duplicates, r.Buffers, r.Reads)
	}
	// The socket's counter also holds requests that were dropped: to begin, after the
	// one that was answered, and for the report, before it; and duplicates made by the
	// network.
	dropped := r.Dropped
	if m.Recv == event.RecvGRO {
		dropped = min(dropped*perBuffer(m, r), sent-r.Delivered)
	}
	received := r.Delivered + dropped
	if extra := received - sent; extra > 0 {
		if extra > int64(asked)+r.Duplicates {
			return 0, fmt.Errorf("impossible: %d datagrams delivered and %d dropped at the socket, of %d sent", r.Delivered, dropped, sent)
		}
		received = sent
	}
	return received, nil
}

// perBuffer is how many datagrams a buffer holds that the server's socket dropped:
// as many as those that it did not. With UDP_GRO the kernel counts drops by the
// buffer (__udp_enqueue_schedule_skb, net/ipv4/udp.c). A batch that is sent by gso
// and crosses no device that cuts it is one buffer, and then this is exact.
func perBuffer(m event.Mode, r wire.UDPReport) int64 {
	if r.Buffers == 0 {
		return int64(max(m.Batch, 1))
	}
	return (r.Delivered + r.Duplicates + r.Buffers - 1) / r.Buffers
}
