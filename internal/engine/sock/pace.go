package sock

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// Pace limits what a TCP socket sends to bits per second of payload and returns the
// rate in effect. Without fq the kernel spaces segments itself since Linux 4.13
// (SO_MAX_PACING_RATE, sk_setsockopt in net/core/sock.c; tcp_update_skb_after_send in
// net/ipv4/tcp_output.c charges the payload from the eleventh segment on), at rates of
// 64 bits since 4.20. Slower streams get smaller segments, about a millisecond of data
// each (tcp_tso_autosize).
//
// Unsent data is limited to a hundredth of a second (TCP_NOTSENT_LOWAT, tcp(7)). The
// send buffer grows to megabytes, which a slow stream would take long to drain.
func Pace(fd int, bits float64) (float64, error) {
	bytes := uint64(bits / 8)
	if err := unix.SetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, bytes); err != nil {
		return 0, fmt.Errorf("pace to %g bit/s: %w%s", bits, err, Lacks(err, "a pacing rate of 64 bits, which came with Linux 4.20", "leave out the rate"))
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, int(min(max(bytes/100, event.MinQueue), wire.MaxBuffer))); err != nil {
		return 0, fmt.Errorf("pace to %g bit/s: bound the queue: %w", bits, err)
	}
	got, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE)
	if err != nil {
		return 0, fmt.Errorf("pace to %g bit/s: %w", bits, err)
	}
	return float64(got) * 8, nil
}
