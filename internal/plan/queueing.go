package plan

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// The commands of tc(8) for queueing disciplines.

func (r Rate) shell(in string) command {
	at := command{"root"}
	if r.Delayed {
		at = command{"parent", "1:1"}
	}
	if r.Rate == 0 {
		return append(command{"tc", "-n", in, "qdisc", "del", "dev", r.Dev}, at...)
	}
	return append(append(command{"tc", "-n", in, "qdisc", "replace", "dev", r.Dev}, at...), "tbf",
		"rate", bits(r.Rate), "burst", strconv.Itoa(r.Burst()), "limit", strconv.Itoa(r.Limit()),
		"peakrate", bits(r.Peak()), "mtu", strconv.Itoa(r.Frame()), "overhead", strconv.Itoa(WireOverhead),
		"mpu", strconv.Itoa(WireMinimum))
}

func (d Delay) shell(in string) command {
	us := func(d time.Duration) string { return fmt.Sprintf("%dus", d.Microseconds()) }
	c := command{"tc", "-n", in, "qdisc", "replace", "dev", d.Dev, "root", "handle", "1:", "netem", "delay", us(d.Delay)}
	if d.Jitter > 0 {
		c = append(c, us(d.Jitter))
	}
	if d.Loss > 0 {
		c = append(c, "loss", strconv.FormatFloat(100*d.Loss, 'g', -1, 64)+"%")
	}
	if d.Jitter > 0 { // with a rate, netem keeps packets in order (net/sched/sch_netem.c, netem_enqueue)
		c = append(c, "rate", "1000tbit")
	}
	return append(c, "limit", strconv.Itoa(DelayLimit))
}

// bits formats a rate in the largest unit of tc(8) that represents it exactly.
func bits(rate float64) string {
	n := int64(math.Round(rate))
	for _, u := range []struct {
		size int64
		name string
	}{{1e12, "tbit"}, {1e9, "gbit"}, {1e6, "mbit"}, {1e3, "kbit"}} {
		if n != 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "bit"
}

const (
	rateBurst = 250e-6 // seconds; see Burst
	ratePeak  = 1e12   // bit/s; see Peak
	rateQueue = 1000   // packets; see Limit
)

// Frame returns the bytes of a full-size frame as a queueing discipline counts them: with the
// Ethernet header and a VLAN tag, but without the rest of what is on the wire. It is tbf's "mtu",
// which requires Peak; tbf drops anything larger.
func (r Rate) Frame() int { return r.MTU + EthernetHeader + VLANTag }

// Peak returns tbf's "peakrate" in bit/s, far above Rate, so it limits nothing. It is set because
// tbf passes packets up to "mtu" uncut with a peak rate, but up to "burst" without one
// (net/sched/sch_tbf.c, tbf_change and tbf_enqueue). With Frame as "mtu", every segment of a
// segmentation-offload packet becomes a packet and pays WireOverhead, however large the burst is.
func (r Rate) Peak() float64 { return math.Max(ratePeak, 10*r.Rate) }

// Burst returns tbf's "burst" in bytes: the credit that an idle link saves and can spend at once if
// the timer that wakes tbf is late. A link with credit for one frame loses that time: at 1 Gbit/s
// on a virtual machine it delivers 70 % of Rate, with 8 frames 98 %. 250 µs come within 1 % of the
// arithmetic ceiling from 100 Mbit/s to 1 Gbit/s; more would let short messages pass as if
// unlimited.
func (r Rate) Burst() int {
	return max(int(r.Rate/8*rateBurst), 2*(r.Frame()+WireOverhead))
}

// Limit returns tbf's "limit", the bytes that can wait: 1000 full frames, the default queue of an
// Ethernet device (include/net/pkt_sched.h, DEFAULT_TX_QUEUE_LEN).
func (r Rate) Limit() int { return rateQueue * r.Frame() }
