package lab

import (
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/plan"
)

// Constants missing from package unix.
const (
	// include/uapi/linux/pkt_sched.h
	tbfParms   = 1
	tbfRate64  = 4
	tbfPRate64 = 5
	tbfBurst   = 6
	tbfPBurst  = 7

	tickShift = 6              // a packet scheduler tick is 64 ns (include/net/pkt_sched.h, PSCHED_SHIFT)
	handle1   = 1 << 16        // 1:0
	root      = math.MaxUint32 // TC_H_ROOT

	netemRate   = 6 // include/uapi/linux/pkt_sched.h, TCA_NETEM_RATE
	netemRate64 = 8
)

// A tbfSpec is struct tc_ratespec.
type tbfSpec struct {
	CellLog, Linklayer uint8
	Overhead           uint16
	CellAlign          int16
	MPU                uint16
	Rate               uint32
}

// A slot is the place of a queueing discipline on a device, and its handle there.
type slot struct{ Handle, Parent uint32 }

var (
	atRoot     = slot{handle1, root}
	belowDelay = slot{2 * handle1, handle1 | 1} // inside the device's netem
)

// rate returns the request that sets or removes a device's token bucket.
func (p *place) rate(x *plan.Rate, at slot) (*request, error) {
	if x.Rate == 0 {
		index, err := p.index(x.Dev)
		if at == atRoot {
			at.Handle = 0 // any: tc(8), in a step of the study's own, can have made it
		}
		r := p.request(unix.RTM_DELQDISC, 0, tcMsg(index, at))
		r.fine = unix.ENOENT
		return r, err
	}
	r, err := p.qdisc(x.Dev, "tbf", at)
	if err != nil {
		return nil, err
	}
	rate, peak := uint64(x.Rate/8), uint64(x.Peak()/8) // bytes/s
	r.nest(unix.TCA_OPTIONS, func() {
		r.nest(tbfParms, func() {
			r.body(struct { // struct tc_tbf_qopt
				Rate, Peak         tbfSpec
				Limit, Buffer, MTU uint32
			}{
				Rate:  tbfSpec{Overhead: plan.WireOverhead, MPU: plan.WireMinimum, Rate: uint32(min(rate, math.MaxUint32))},
				Peak:  tbfSpec{Rate: uint32(min(peak, math.MaxUint32))},
				Limit: uint32(x.Limit()),
			})
		})
		// The kernel takes the exact values from these instead (net/sched/sch_tbf.c, tbf_change).
		r.u64(tbfRate64, rate)
		r.u64(tbfPRate64, peak)
		r.u32(tbfBurst, uint32(x.Burst()))
		r.u32(tbfPBurst, uint32(x.Frame()))
	})
	return r, nil
}

// qdisc starts the request that replaces a device's queueing discipline.
func (p *place) qdisc(dev, kind string, at slot) (*request, error) {
	index, err := p.index(dev)
	if err != nil {
		return nil, err
	}
	r := p.request(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, tcMsg(index, at))
	r.str(unix.TCA_KIND, kind)
	return r, nil
}

// tcMsg is struct tcmsg for a device.
func tcMsg(index int32, at slot) any {
	return struct {
		Family, _, _, _          uint8
		Index                    int32
		Handle, Parent, Reserved uint32
	}{Index: index, Handle: at.Handle, Parent: at.Parent}
}

// delay returns the request for a netem that delays packets leaving a device.
func (p *place) delay(d *plan.Delay) (*request, error) {
	r, err := p.qdisc(d.Dev, "netem", atRoot)
	if err != nil {
		return nil, err
	}
	r.nest(unix.TCA_OPTIONS, func() {
		r.body(struct{ Latency, Limit, Loss, Gap, Duplicate, Jitter uint32 }{ // struct tc_netem_qopt
			Latency: ticks(d.Delay), Jitter: ticks(d.Jitter), Loss: uint32(d.Loss * math.MaxUint32), Limit: plan.DelayLimit})
		// With a rate, however large, packets stay in order (net/sched/sch_netem.c, netem_enqueue).
		rate, rate64 := uint32(0), uint64(0)
		if d.Jitter > 0 {
			rate, rate64 = math.MaxUint32, 1e15/8
		}
		r.nest(netemRate, func() {
			r.body(struct { // struct tc_netem_rate
				Rate                   uint32
				PacketOverhead         int32
				CellSize, CellOverhead uint32
			}{Rate: rate})
		})
		if rate64 > 0 {
			r.u64(netemRate64, rate64)
		}
	})
	return r, nil
}

func ticks(d time.Duration) uint32 { return uint32(d.Nanoseconds() >> tickShift) }
