package lab

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/plan"
)

// delay holds back what leaves a device.
func (p *place) delay(d *plan.Delay) error {
	dev, err := p.nl.LinkByName(d.Dev)
	if err != nil {
		return fmt.Errorf("delay of %s: %w", d.Dev, err)
	}
	attrs := netlink.QdiscAttrs{LinkIndex: dev.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}
	err = p.nl.QdiscReplace(netlink.NewNetem(attrs, netlink.NetemQdiscAttrs{
		Latency: uint32(d.Delay.Microseconds()), Limit: plan.DelayLimit}))
	if errors.Is(err, unix.ENOENT) { // of a kind that is neither there nor a module (net/sched/sch_api.c, qdisc_create)
		err = unix.EOPNOTSUPP
	}
	if err != nil {
		return fmt.Errorf("delay %v on %s: %w", d.Delay, d.Dev, unsupported(err, "netem"))
	}
	return nil
}
