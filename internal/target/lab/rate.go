package lab

import (
	"errors"
	"fmt"
	"math"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/plan"
)

// rate puts a token bucket on a device, or removes it. The netlink package's
// Tbf has no field for the wire's overhead, so the message is put together here.
func (p *place) rate(r *plan.Rate) error {
	dev, err := p.nl.LinkByName(r.Dev)
	if err != nil {
		return fmt.Errorf("rate of %s: %w", r.Dev, err)
	}
	if r.Rate == 0 {
		err := p.nl.QdiscDel(&netlink.GenericQdisc{QdiscAttrs: netlink.QdiscAttrs{
			LinkIndex: dev.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}, QdiscType: "tbf"})
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("remove the rate of %s: %w", r.Dev, err)
		}
		return nil
	}
	if err := p.ns.Do(func() error { return tbf(dev.Attrs().Index, r) }); err != nil {
		return fmt.Errorf("rate %g bit/s on %s: %w", r.Rate, r.Dev, unsupported(err, "tbf"))
	}
	return nil
}

func tbf(index int, r *plan.Rate) error {
	rate, peak := uint64(r.Rate/8), uint64(r.Peak()/8) // bytes/s
	opt := nl.TcTbfQopt{Limit: uint32(r.Limit())}
	opt.Rate.Rate = uint32(min(rate, math.MaxUint32))
	opt.Rate.Overhead, opt.Rate.Mpu = plan.WireOverhead, plan.WireMinimum
	opt.Peakrate.Rate = uint32(min(peak, math.MaxUint32))

	options := nl.NewRtAttr(nl.TCA_OPTIONS, nil)
	options.AddRtAttr(nl.TCA_TBF_PARMS, opt.Serialize())
	// The kernel takes the exact values from these instead (net/sched/sch_tbf.c, tbf_change).
	options.AddRtAttr(nl.TCA_TBF_RATE64, nl.Uint64Attr(rate))
	options.AddRtAttr(nl.TCA_TBF_PRATE64, nl.Uint64Attr(peak))
	options.AddRtAttr(nl.TCA_TBF_BURST, nl.Uint32Attr(uint32(r.Burst())))
	options.AddRtAttr(nl.TCA_TBF_PBURST, nl.Uint32Attr(uint32(r.Frame())))

	req := nl.NewNetlinkRequest(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE|unix.NLM_F_ACK)
	req.AddData(&nl.TcMsg{Family: nl.FAMILY_ALL, Ifindex: int32(index), Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT})
	req.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated("tbf")))
	req.AddData(options)
	_, err := req.Execute(unix.NETLINK_ROUTE, 0)
	return err
}
