package sock

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// A hop is where packets to an address go first: an Ethernet device and the neighbor behind it.
type hop struct {
	dev      *netlink.LinkAttrs
	mtu      int // of the route, not above the device's
	neighbor net.HardwareAddr
}

// nextHop asks the kernel for the route from one address to another, and for the Ethernet address of
// its next hop, which a packet that was sent there must have resolved.
func nextHop(from, to netip.Addr) (h hop, err error) {
	routes, err := netlink.RouteGetWithOptions(to.AsSlice(), &netlink.RouteGetOptions{SrcAddr: from.AsSlice()})
	if err != nil {
		return h, fmt.Errorf("the route to %v: %w", to, err)
	}
	route := routes[0]
	link, err := netlink.LinkByIndex(route.LinkIndex)
	if err != nil {
		return h, fmt.Errorf("the device of the route to %v: %w", to, err)
	}
	h.dev = link.Attrs()
	if h.dev.EncapType != "ether" {
		return h, fmt.Errorf("the route to %v leaves through %s, which is not an Ethernet device", to, h.dev.Name)
	}
	if h.mtu = route.MTU; h.mtu == 0 || h.mtu > h.dev.MTU {
		h.mtu = h.dev.MTU
	}
	via := net.IP(to.AsSlice())
	if route.Gw != nil {
		via = route.Gw
	}
	neighbors, err := netlink.NeighList(h.dev.Index, Family(to))
	i := slices.IndexFunc(neighbors, func(n netlink.Neigh) bool { return n.IP.Equal(via) && len(n.HardwareAddr) == 6 })
	if err != nil || i < 0 {
		return h, fmt.Errorf("%s has no Ethernet address of %v: %w", h.dev.Name, via, errors.Join(err, unix.EHOSTUNREACH))
	}
	h.neighbor = neighbors[i].HardwareAddr
	return h, nil
}

// prompt are the queueing disciplines that neither delay nor drop packets on purpose.
var prompt = []string{"noqueue", "pfifo_fast", "pfifo", "bfifo", "fq", "fq_codel", "mq"}

// shaped returns the queueing discipline of a device, unless passing it by changes nothing but its cost.
func shaped(dev *netlink.LinkAttrs) (string, error) {
	list, err := netlink.QdiscList(&netlink.Device{LinkAttrs: *dev})
	if err != nil {
		return "", fmt.Errorf("the queueing disciplines of %s: %w", dev.Name, err)
	}
	for _, q := range list {
		if kind := q.Type(); q.Attrs().Parent == netlink.HANDLE_ROOT && !slices.Contains(prompt, kind) {
			return kind, nil
		}
	}
	return "", nil
}
