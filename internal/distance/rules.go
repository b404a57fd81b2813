package distance

import (
	"errors"
	"fmt"
	"os"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/xt"
	"github.com/vishvananda/netlink"
)

// divert makes the bridges of this network namespace hand every IP packet to queue 0 before it leaves
// a port: bridge-nf passes it to the hooks of IP (net/bridge/br_netfilter_hooks.c), with or without a
// VLAN tag. ARP passes without delay. Packets for a bridge itself, which promiscuous mode adds, are
// dropped at once.
//
// A table of the bridge family would do without bridge-nf. But there, recent kernels know only
// nftables' own expression for queues, which a kernel without netem often lacks (CONFIG_NFT_QUEUE).
func divert() error {
	for _, key := range []string{"call-iptables", "call-ip6tables", "filter-vlan-tagged"} {
		err := os.WriteFile("/proc/sys/net/bridge/bridge-nf-"+key, []byte("1"), 0)
		if errors.Is(err, os.ErrNotExist) && key != "call-iptables" {
			err = nil // a kernel without IPv6 or VLANs
		}
		if err != nil {
			return fmt.Errorf("bridge-nf: %w; the kernel needs CONFIG_BRIDGE_NETFILTER: load its module as root (modprobe br_netfilter)", err)
		}
	}
	c, err := nftables.New()
	if err == nil {
		err = rules(c)
	}
	if err != nil {
		return fmt.Errorf("nftables: %w; the kernel needs CONFIG_NF_TABLES_INET, CONFIG_NF_TABLES_BRIDGE, CONFIG_NFT_COMPAT and CONFIG_NETFILTER_XT_TARGET_NFQUEUE", err)
	}
	return nil
}

func rules(c *nftables.Conn) error {
	// A kernel without nftables answers a whole batch once, but Flush waits for an answer to each message in it.
	ip := c.AddTable(&nftables.Table{Family: nftables.TableFamilyINet, Name: "weir-distance"})
	if err := c.Flush(); err != nil {
		return err
	}
	chain := func(t *nftables.Table, hook *nftables.ChainHook, policy nftables.ChainPolicy) *nftables.Chain {
		return c.AddChain(&nftables.Chain{Table: t, Name: "packets", Type: nftables.ChainTypeFilter,
			Hooknum: hook, Priority: nftables.ChainPriorityFilter, Policy: &policy})
	}
	queue := xt.Unknown(make([]byte, 8)) // struct xt_NFQ_info, aligned: queue 0
	c.AddRule(&nftables.Rule{Table: ip, Chain: chain(ip, nftables.ChainHookForward, nftables.ChainPolicyAccept),
		Exprs: []expr.Any{&expr.Target{Name: "NFQUEUE", Info: &queue}}})
	bridge := c.AddTable(&nftables.Table{Family: nftables.TableFamilyBridge, Name: ip.Name})
	chain(bridge, nftables.ChainHookInput, nftables.ChainPolicyDrop)
	return c.Flush()
}

// promiscuous makes a bridge forward a copy of each packet, which no longer belongs to the sender's
// socket (net/bridge/br_forward.c, deliver_clone); divert drops the original. Otherwise packets that
// wait fill the sender's buffer as if they had not left its host, and the delay limits its rate
// (SO_SNDBUF; TCP small queues). netem does the same by skb_orphan_partial.
func promiscuous(dev string) error {
	link, err := netlink.LinkByName(dev)
	if err != nil {
		return err
	}
	return netlink.SetPromiscOn(link)
}
