package lab

import (
	"encoding/binary"
	"math"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/plan"
)

func (p *place) addr(a *plan.Addr) (*request, error) {
	index, err := p.index(a.Dev)
	if err != nil {
		return nil, err
	}
	ip := a.Prefix.Addr()
	msg := unix.IfAddrmsg{Family: family(ip), Prefixlen: uint8(a.Prefix.Bits()), Index: uint32(index)}
	if ip.Is6() {
		msg.Flags = unix.IFA_F_NODAD // usable at once (net/ipv6/addrconf.c, ipv6_add_addr)
	}
	r := p.request(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, msg)
	if a.Gone {
		r = p.request(unix.RTM_DELADDR, 0, msg)
	}
	r.addr(unix.IFA_LOCAL, ip)
	r.addr(unix.IFA_ADDRESS, ip)
	if ip.Is4() && a.Prefix.Bits() < 31 { // RFC 3021: /31 has no broadcast address
		b := ip.As4()
		binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])|math.MaxUint32>>a.Prefix.Bits())
		r.put(unix.IFA_BROADCAST, b[:])
	}
	return r, nil
}

func (p *place) route(x *plan.Route) (*request, error) {
	msg := unix.RtMsg{Family: family(x.Dst.Addr()), Dst_len: uint8(x.Dst.Bits()), Table: uint8(x.Table),
		Protocol: unix.RTPROT_BOOT, Type: unix.RTN_UNICAST}
	switch {
	case x.Table == 0:
		msg.Table = unix.RT_TABLE_MAIN
	case x.Table > 255:
		msg.Table = unix.RT_TABLE_UNSPEC // an attribute holds it
	}
	if !x.Via.IsValid() {
		msg.Scope = unix.RT_SCOPE_LINK
	}
	index := int32(0)
	if x.Dev != "" {
		var err error
		if index, err = p.index(x.Dev); err != nil {
			return nil, err
		}
		if x.Via.IsValid() {
			msg.Flags = unix.RTNH_F_ONLINK
		}
	}
	r := p.request(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, msg)
	if x.Gone {
		r = p.request(unix.RTM_DELROUTE, 0, msg)
	}
	r.addr(unix.RTA_DST, x.Dst.Addr())
	if x.Via.IsValid() {
		r.addr(unix.RTA_GATEWAY, x.Via)
	}
	if x.Table > 255 {
		r.u32(unix.RTA_TABLE, uint32(x.Table))
	}
	r.some(unix.RTA_OIF, int(index))
	return r, nil
}

func (p *place) rule(x *plan.Rule) *request {
	msg := unix.RtMsg{Family: unix.AF_INET, Table: uint8(x.Table), Protocol: unix.RTPROT_BOOT, Type: unix.FR_ACT_TO_TBL}
	if x.Table > 255 {
		msg.Table = unix.RT_TABLE_UNSPEC // an attribute holds it
	}
	for _, prefix := range []netip.Prefix{x.From, x.To} {
		if prefix.IsValid() {
			msg.Family = family(prefix.Addr())
		}
	}
	msg.Src_len, msg.Dst_len = uint8(max(x.From.Bits(), 0)), uint8(max(x.To.Bits(), 0))
	r := p.request(unix.RTM_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, msg)
	if x.Gone {
		r = p.request(unix.RTM_DELRULE, 0, msg)
	}
	if x.From.IsValid() {
		r.addr(unix.FRA_SRC, x.From.Addr())
	}
	if x.To.IsValid() {
		r.addr(unix.FRA_DST, x.To.Addr())
	}
	r.u32(unix.FRA_PRIORITY, uint32(x.Priority))
	if x.Table > 255 {
		r.u32(unix.FRA_TABLE, uint32(x.Table))
	}
	return r
}

func (p *place) proxy(x *plan.Proxy) (*request, error) {
	index, err := p.index(x.Dev)
	if err != nil {
		return nil, err
	}
	r := p.request(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_EXCL,
		unix.NdMsg{Family: family(x.Addr), Ifindex: index, Flags: unix.NTF_PROXY})
	r.addr(unix.NDA_DST, x.Addr)
	return r, nil
}

func (p *place) fdb(f *plan.FDB) (*request, error) {
	index, err := p.index(f.Dev)
	if err != nil {
		return nil, err
	}
	r := p.request(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_APPEND,
		unix.NdMsg{Family: unix.AF_BRIDGE, Ifindex: index, Flags: unix.NTF_SELF, State: unix.NUD_PERMANENT})
	if f.Gone {
		r = p.request(unix.RTM_DELNEIGH, 0, unix.NdMsg{Family: unix.AF_BRIDGE, Ifindex: index, Flags: unix.NTF_SELF, State: unix.NUD_PERMANENT})
	}
	r.addr(unix.NDA_DST, f.Dst)
	r.put(unix.NDA_LLADDR, make([]byte, 6)) // for unknown stations
	return r, nil
}
