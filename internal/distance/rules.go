package distance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Constants of include/uapi/linux/netfilter.h, netfilter_bridge.h and netfilter/nf_tables.h that
// package unix lacks.
const (
	subsysNFT, subsysQueue   = 10, 3
	protoInet, protoBridge   = 1, 7
	hookLocalIn, hookForward = 1, 2 // NF_BR_LOCAL_IN, NF_INET_FORWARD
	nfDrop, nfAccept         = 0, 1

	batchBegin, batchEnd = unix.NLMSG_MIN_TYPE, unix.NLMSG_MIN_TYPE + 1

	msgNewTable, msgNewChain, msgNewRule = 0, 3, 6

	tableName                             = 1
	chainTable, chainName, chainHook      = 1, 3, 4
	chainPolicy, chainType                = 5, 7
	hookNum, hookPriority                 = 1, 2
	ruleTable, ruleChain, ruleExpressions = 1, 2, 4
	listElement                           = 1
	exprName, exprData                    = 1, 2
	targetName, targetRevision            = 1, 2
	targetInfo                            = 3

	nested uint16 = 1 << 15 // NLA_F_NESTED
)

// Names in nftables.
const (
	table = "weir-distance"
	chain = "packets"
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
	c, err := dial()
	if err != nil {
		return err
	}
	defer c.close()
	r := newMessage(subsysNFT, msgNewRule, unix.NLM_F_CREATE|unix.NLM_F_APPEND, protoInet, 0)
	r.str(ruleTable, table)
	r.str(ruleChain, chain)
	r.nest(ruleExpressions, func() {
		r.nest(listElement, func() {
			r.str(exprName, "target")
			r.nest(exprData, func() {
				r.str(targetName, "NFQUEUE")
				r.be32(targetRevision, 0)
				r.put(targetInfo, make([]byte, 8)) // struct xt_NFQ_info, aligned: queue 0
			})
		})
	})
	err = c.batch(newTable(protoInet), newChain(protoInet, hookForward, nfAccept), r,
		newTable(protoBridge), newChain(protoBridge, hookLocalIn, nfDrop))
	if err != nil {
		return fmt.Errorf("nftables: %w; the kernel needs CONFIG_NF_TABLES_INET, CONFIG_NF_TABLES_BRIDGE, CONFIG_NFT_COMPAT and CONFIG_NETFILTER_XT_TARGET_NFQUEUE", err)
	}
	return nil
}

func newTable(family uint8) *message {
	m := newMessage(subsysNFT, msgNewTable, unix.NLM_F_CREATE, family, 0)
	m.str(tableName, table)
	return m
}

func newChain(family uint8, hook, policy uint32) *message {
	m := newMessage(subsysNFT, msgNewChain, unix.NLM_F_CREATE, family, 0)
	m.str(chainTable, table)
	m.str(chainName, chain)
	m.nest(chainHook, func() {
		m.be32(hookNum, hook)
		m.be32(hookPriority, 0)
	})
	m.be32(chainPolicy, policy)
	m.str(chainType, "filter")
	return m
}

// promiscuous makes a bridge forward a copy of each packet, which no longer belongs to the sender's
// socket (net/bridge/br_forward.c, deliver_clone); divert drops the original. Otherwise packets that
// wait fill the sender's buffer as if they had not left its host, and the delay limits its rate
// (SO_SNDBUF; TCP small queues). netem does the same by skb_orphan_partial.
func promiscuous(dev string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq(dev)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, req); err != nil {
		return err
	}
	req.SetUint16(req.Uint16() | unix.IFF_PROMISC)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
}

// A conn is a netfilter netlink socket of this thread's network namespace.
type conn struct{ fd int }

func dial() (*conn, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, fmt.Errorf("netfilter netlink: %w; the kernel needs CONFIG_NETFILTER_NETLINK", err)
	}
	return &conn{fd}, nil
}

func (c *conn) close() error { return unix.Close(c.fd) }

// batch executes messages as one transaction (net/netfilter/nfnetlink.c, nfnetlink_rcv_batch).
func (c *conn) batch(ms ...*message) error {
	begin, end := newMessage(0, batchBegin, 0, unix.AF_UNSPEC, subsysNFT), newMessage(0, batchEnd, 0, unix.AF_UNSPEC, subsysNFT)
	var b []byte
	for _, m := range ms {
		binary.NativeEndian.PutUint16((*m)[6:], binary.NativeEndian.Uint16((*m)[6:])|unix.NLM_F_ACK)
		b = append(b, m.done()...)
	}
	if err := unix.Send(c.fd, append(append(begin.done(), b...), end.done()...), 0); err != nil {
		return err
	}
	for range ms {
		// A batch that the kernel refuses as a whole, as one without nftables does, has a single answer.
		if err := c.acknowledged(); err != nil {
			return err
		}
	}
	return nil
}

// acknowledged reads the answer to one message (struct nlmsgerr).
func (c *conn) acknowledged() error {
	b := make([]byte, 4096)
	n, err := unix.Read(c.fd, b)
	switch {
	case err != nil:
		return os.NewSyscallError("read", err)
	case n < unix.SizeofNlMsghdr+4:
		return fmt.Errorf("an answer of %d bytes", n)
	}
	if errno := -int32(binary.NativeEndian.Uint32(b[unix.SizeofNlMsghdr:])); errno != 0 {
		return unix.Errno(errno)
	}
	return nil
}

// A message is a netlink message under construction.
type message []byte

// newMessage starts a message: struct nlmsghdr and struct nfgenmsg.
func newMessage(subsys, typ, flags uint16, family uint8, resource uint16) *message {
	m := make(message, unix.SizeofNlMsghdr, 256)
	binary.NativeEndian.PutUint16(m[4:], subsys<<8|typ)
	binary.NativeEndian.PutUint16(m[6:], flags|unix.NLM_F_REQUEST)
	m = append(m, family, unix.NFNETLINK_V0)
	m = binary.BigEndian.AppendUint16(m, resource)
	return &m
}

// done returns the message with its length.
func (m *message) done() []byte {
	binary.NativeEndian.PutUint32(*m, uint32(len(*m)))
	return *m
}

func (m *message) put(attr uint16, value []byte) {
	*m = binary.NativeEndian.AppendUint16(*m, uint16(unix.SizeofRtAttr+len(value)))
	*m = append(binary.NativeEndian.AppendUint16(*m, attr), value...)
	for len(*m)%unix.NLMSG_ALIGNTO != 0 {
		*m = append(*m, 0)
	}
}

func (m *message) str(attr uint16, s string)  { m.put(attr, append([]byte(s), 0)) }
func (m *message) be32(attr uint16, v uint32) { m.put(attr, binary.BigEndian.AppendUint32(nil, v)) }

// nest appends an attribute that contains what fill appends.
func (m *message) nest(attr uint16, fill func()) {
	start := len(*m)
	m.put(attr|nested, nil)
	fill()
	binary.NativeEndian.PutUint16((*m)[start:], uint16(len(*m)-start))
}
