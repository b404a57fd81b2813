package plan

import "math"

// Of the token bucket of a Rate.
const (
	rateBurst = 250e-6 // seconds; see Burst
	ratePeak  = 1e12   // bit/s; see Peak
	rateQueue = 1000   // packets; see Limit
)

// Frame returns the bytes of a frame of full size. A queueing discipline counts
// them so: with the Ethernet header and a VLAN tag, neither of which the MTU
// counts, and without what else is on the wire. It is tbf's "mtu", which tbf only
// takes together with Peak, and what is larger is dropped.
func (r Rate) Frame() int { return r.MTU + EthernetHeader + VLANTag }

// Peak returns tbf's "peakrate" in bit/s. It is far above Rate and limits
// nothing. It is there because the packets that tbf passes uncut are those up
// to "mtu" when there is a peak rate, and up to "burst" when there is none
// (net/sched/sch_tbf.c, tbf_change and tbf_enqueue). With Frame as "mtu" every
// segment of a segmentation-offload packet becomes a packet of its own and pays
// its own WireOverhead, however large the burst has to be.
func (r Rate) Peak() float64 { return math.Max(ratePeak, 10*r.Rate) }

// Burst returns tbf's "burst" in bytes: the credit that an idle link saves up,
// which is what it may send at once when the timer that wakes tbf was late.
// A link of one frame's credit loses the rest: at 1 Gbit/s it gives 70 % of
// Rate on a virtual machine, and 8 frames give 98 %. 250 µs reach the
// arithmetic ceiling within 1 % from 100 Mbit/s to 1 Gbit/s; more would let
// short messages pass as if there was no limit.
func (r Rate) Burst() int {
	return max(int(r.Rate/8*rateBurst), 2*(r.Frame()+WireOverhead))
}

// Limit returns tbf's "limit" in bytes, what may wait: 1000 full frames, the
// default queue of an Ethernet device (include/net/pkt_sched.h,
// DEFAULT_TX_QUEUE_LEN).
func (r Rate) Limit() int { return rateQueue * r.Frame() }
