package wire

import (
	"cmp"

	"github.com/weir-bench/weir/internal/engine/event"
)

// A Reading is what the kernel has accounted to a thread that carries traffic, and to its connection, since
// they began. The difference of two is what they used between the edges of a window.
type Reading struct {
	CPU      int64  `json:"cpu"`      // ns on a CPU; 0 if the thread could not read it at both edges
	RunDelay int64  `json:"runDelay"` // ns in which it was runnable and waited for a CPU; -1 if unknown
	TCP      TCP    `json:"tcp"`
	Timers   Timers `json:"timers"`
}

// Timers is what struct tcp_info tells of retransmission timeouts since Linux 6.7; unknown on older kernels and over UDP.
type Timers struct {
	Known      bool  `json:"known"`
	Timeouts   int64 `json:"timeouts"`   // tcpi_total_rto
	Recoveries int64 `json:"recoveries"` // tcpi_total_rto_recoveries: of these, episodes that ended
	Time       int64 `json:"time"`       // tcpi_total_rto_time, ms in such episodes
}

// Since returns the difference to earlier timers; those of a new connection are the zero Timers.
func (t Timers) Since(begin Timers) Timers {
	if !t.Known || !begin.Known && begin != (Timers{}) {
		return Timers{}
	}
	return Timers{true, t.Timeouts - begin.Timeouts, t.Recoveries - begin.Recoveries, t.Time - begin.Time}
}

// TCP is a part of struct tcp_info (include/uapi/linux/tcp.h); 0 over UDP. The times are µs, in steps of the
// kernel's tick (tcp_get_info_chrono_stats, net/ipv4/tcp.c).
type TCP struct {
	Busy          int64 `json:"busy"`          // tcpi_busy_time, with data in flight or waiting
	RwndLimited   int64 `json:"rwndLimited"`   // part of Busy
	SndbufLimited int64 `json:"sndbufLimited"` // part of Busy
	SegmentsOut   int64 `json:"segmentsOut"`   // tcpi_segs_out, modulo 2^32
	Retransmitted int64 `json:"retransmitted"` // tcpi_total_retrans, modulo 2^32
	Duplicates    int64 `json:"duplicates"`    // tcpi_dsack_dups, modulo 2^32
	Reordered     int64 `json:"reordered"`     // tcpi_reord_seen, modulo 2^32
	Window        int64 `json:"window"`        // tcpi_snd_cwnd, segments: of the reading, also in a difference
}

// Since returns the difference to an earlier reading.
func (r Reading) Since(begin Reading) Reading {
	d := Reading{CPU: r.CPU - begin.CPU, RunDelay: -1, TCP: r.TCP.Since(begin.TCP), Timers: r.Timers.Since(begin.Timers)}
	if begin.RunDelay >= 0 && r.RunDelay >= begin.RunDelay {
		d.RunDelay = r.RunDelay - begin.RunDelay
	}
	return d
}

func (t TCP) Since(begin TCP) TCP {
	return TCP{
		Busy: t.Busy - begin.Busy, RwndLimited: t.RwndLimited - begin.RwndLimited, SndbufLimited: t.SndbufLimited - begin.SndbufLimited,
		SegmentsOut: int64(uint32(t.SegmentsOut - begin.SegmentsOut)), Retransmitted: int64(uint32(t.Retransmitted - begin.Retransmitted)),
		Duplicates: int64(uint32(t.Duplicates - begin.Duplicates)), Reordered: int64(uint32(t.Reordered - begin.Reordered)), Window: t.Window,
	}
}

func (t TCP) Plus(u TCP) TCP {
	return TCP{t.Busy + u.Busy, t.RwndLimited + u.RwndLimited, t.SndbufLimited + u.SndbufLimited,
		t.SegmentsOut + u.SegmentsOut, t.Retransmitted + u.Retransmitted, t.Duplicates + u.Duplicates, t.Reordered + u.Reordered, t.Window + u.Window}
}

// Sum adds differences. It is unknown as soon as one of them is: part of a sum would mislead.
func Sum(of []Reading) Reading {
	var sum Reading
	for _, r := range of {
		if r.CPU == 0 {
			return Reading{RunDelay: -1}
		}
		sum.CPU, sum.TCP = sum.CPU+r.CPU, sum.TCP.Plus(r.TCP)
		if sum.RunDelay >= 0 && r.RunDelay >= 0 {
			sum.RunDelay += r.RunDelay
		} else {
			sum.RunDelay = -1
		}
	}
	return sum
}

// Check returns an error if the difference of two readings, which the other end reports, is impossible.
func (r Reading) Check() error {
	const longest, most = 2 * int64(MaxTime), 1 << 40 // ns; segments
	return cmp.Or(
		event.Within("CPU time", r.CPU, 0, longest, "ns"),
		event.Within("run-queue wait", r.RunDelay, -1, longest, "ns"),
		event.Within("busy time", r.TCP.Busy, 0, longest/1000, "µs"),
		event.Within("time limited by the receiver's window", r.TCP.RwndLimited, 0, r.TCP.Busy, "µs"),
		event.Within("time limited by the send buffer", r.TCP.SndbufLimited, 0, r.TCP.Busy-r.TCP.RwndLimited, "µs"),
		event.Within("segments sent", r.TCP.SegmentsOut, 0, most, ""),
		event.Within("segments retransmitted", r.TCP.Retransmitted, 0, most, ""),
		event.Within("segments that arrived twice", r.TCP.Duplicates, 0, most, ""),
		event.Within("segments that later ones overtook", r.TCP.Reordered, 0, most, ""),
		event.Within("congestion window", r.TCP.Window, 0, most, "segments"),
		event.Within("retransmission timeouts", r.Timers.Timeouts, 0, most, ""),
		event.Within("recoveries from timeouts", r.Timers.Recoveries, 0, most, ""),
		event.Within("time in timeouts", r.Timers.Time, 0, longest/1e6, "ms"))
}
