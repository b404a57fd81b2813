package plan

import "math"

// Constants of the token bucket of a Rate.
const (
	rateBurst = 250e-6 // seconds; see Burst
	ratePeak  = 1e12   // bit/s; see Peak
	rateQueue = 1000   // packets; see Limit
)

// Frame returns the bytes of a full-size frame as a queueing discipline counts
// them: with the Ethernet header and a VLAN tag, which the MTU does not count, and
// without the rest of what is on the wire. It is tbf's "mtu", which tbf accepts
// only together with Peak; tbf drops anything larger.
func (r Rate) Frame() int { return r.MTU + EthernetHeader + VLANTag }

// Peak returns tbf's "peakrate" in bit/s. It is far above Rate and limits
// nothing. It is set because tbf passes packets up to "mtu" uncut if there is a
// peak rate, but up to "burst" if there is none (net/sched/sch_tbf.c, tbf_change
// and tbf_enqueue). With Frame as "mtu" every segment of a segmentation-offload
// packet becomes a packet of its own and pays its own WireOverhead, however large
// the burst has to be.
func (r Rate) Peak() float64 { return math.Max(ratePeak, 10*r.Rate) }

// Burst returns tbf's "burst" in bytes: the credit that an idle link saves up and
// can spend at once if the timer that wakes tbf was late. A link with credit for
// one frame loses that time: at 1 Gbit/s it delivers 70 % of Rate on a virtual
// machine, and 8 frames deliver 98 %. 250 µs come within 1 % of the arithmetic
// ceiling from 100 Mbit/s to 1 Gbit/s; more would let short messages pass as if
// there were no limit.
func (r Rate) Burst() int {
	return max(int(r.Rate/8*rateBurst), 2*(r.Frame()+WireOverhead))
}

// Limit returns tbf's "limit", the bytes that can wait: 1000 full frames, the
// default queue of an Ethernet device (include/net/pkt_sched.h,
// DEFAULT_TX_QUEUE_LEN).
func (r Rate) Limit() int { return rateQueue * r.Frame() }
