package lab

import (
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/plan"
)

// delay returns the request that delays the packets that leave a device.
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
