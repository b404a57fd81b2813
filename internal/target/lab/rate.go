package lab

import (
	"math"

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
)

// A tbfSpec is struct tc_ratespec.
type tbfSpec struct {
	CellLog, Linklayer uint8
	Overhead           uint16
	CellAlign          int16
	MPU                uint16
	Rate               uint32
}

// rate returns the request that sets or removes a device's token bucket.
func (p *place) rate(x *plan.Rate) (*request, error) {
	if x.Rate == 0 {
		index, err := p.index(x.Dev)
		r := p.request(unix.RTM_DELQDISC, 0, tcMsg(index))
		r.fine = unix.ENOENT
		return r, err
	}
	r, err := p.qdisc(x.Dev, "tbf")
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
func (p *place) qdisc(dev, kind string) (*request, error) {
	index, err := p.index(dev)
	if err != nil {
		return nil, err
	}
	r := p.request(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, tcMsg(index))
	r.str(unix.TCA_KIND, kind)
	return r, nil
}

// tcMsg is struct tcmsg for the root of a device.
func tcMsg(index int32) any {
	return struct {
		Family, _, _, _          uint8
		Index                    int32
		Handle, Parent, Reserved uint32
	}{Index: index, Handle: handle1, Parent: root}
}

// delay returns the request that delays packets leaving a device.
func (p *place) delay(d *plan.Delay) (*request, error) {
	r, err := p.qdisc(d.Dev, "netem")
	if err != nil {
		return nil, err
	}
	r.nest(unix.TCA_OPTIONS, func() {
		r.body(struct{ Latency, Limit, Loss, Gap, Duplicate, Jitter uint32 }{ // struct tc_netem_qopt
			Latency: uint32(d.Delay.Nanoseconds() >> tickShift), Limit: plan.DelayLimit})
	})
	return r, nil
}
