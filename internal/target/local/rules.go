package local

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// legacyTables list the tables of the older packet filters that a network namespace has begun to use
// (net/netfilter/x_tables.c, xt_proto_init).
var legacyTables = []string{"ip_tables_names", "ip6_tables_names", "arp_tables_names"}

// rules counts the rules of nftables in the calling thread's network namespace, in all tables and families, and those
// that each packet can meet. It does not know the older filters' rules, so an error names their tables.
func rules(root fs.FS) (all, each *int, err error) {
	for _, name := range legacyTables {
		b, err := fs.ReadFile(root, "proc/net/"+name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, nil, err
		case len(bytes.TrimSpace(b)) > 0:
			return nil, nil, fmt.Errorf("not counted: /proc/net/%s lists %s", name, strings.Join(strings.Fields(string(b)), ", "))
		}
	}
	switch ok, err := hasModule(root, "nf_tables"); {
	case err != nil:
		return nil, nil, err
	case !ok:
		return new(int), new(int), nil
	}
	n, err := openNetlink(unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, nil, err
	}
	defer n.close()
	f := filters{types: map[nftName]string{}, meets: map[nftName]bool{}}
	for message, add := range map[int]func(syscall.NetlinkMessage){unix.NFT_MSG_GETCHAIN: f.chain, unix.NFT_MSG_GETRULE: f.rule} {
		err := n.ask(unix.NFNL_SUBSYS_NFTABLES<<8|message, unix.NLM_F_DUMP, make([]byte, nfgenmsg), add)
		if err != nil {
			return nil, nil, err // EPERM without CAP_NET_ADMIN in the namespace
		}
	}
	all, each = new(int), new(int)
	*all, *each = len(f.rules), f.met()
	return all, each, nil
}

const nfgenmsg = 4 // size of struct nfgenmsg (include/uapi/linux/netfilter/nfnetlink.h): the family comes first

// An nftName names a chain, or a table if there is no chain.
type nftName struct {
	family       byte
	table, chain string
}

// filters are the chains of nftables with a hook, and the chain of every rule.
type filters struct {
	types map[nftName]string // of chains with a hook: filter, nat, route
	meets map[nftName]bool   // tables with a chain whose hook takes each packet
	rules []nftName
}

// nftObject returns the attributes of a message of nftables, and the name in two of them.
func nftObject(m syscall.NetlinkMessage, table, chain int) (nftName, map[int][]byte) {
	if len(m.Data) < nfgenmsg {
		return nftName{}, nil
	}
	parts := maps.Collect(attributes(m.Data[nfgenmsg:]))
	return nftName{m.Data[0], unix.ByteSliceToString(parts[table]), unix.ByteSliceToString(parts[chain])}, parts
}

func (f filters) chain(m syscall.NetlinkMessage) {
	of, parts := nftObject(m, unix.NFTA_CHAIN_TABLE, unix.NFTA_CHAIN_NAME)
	if _, hooked := parts[unix.NFTA_CHAIN_HOOK]; hooked {
		f.types[of] = unix.ByteSliceToString(parts[unix.NFTA_CHAIN_TYPE])
		table := nftName{of.family, of.table, ""}
		f.meets[table] = f.meets[table] || f.types[of] != nat
	}
}

func (f *filters) rule(m syscall.NetlinkMessage) {
	of, _ := nftObject(m, unix.NFTA_RULE_TABLE, unix.NFTA_RULE_CHAIN)
	f.rules = append(f.rules, of)
}

// nat is the type of chains that only the first packet of a connection meets (nf_nat_inet_fn, net/netfilter/nf_nat_core.c).
const nat = "nat"

// met counts the rules that each packet can meet: those in a chain with a hook, except of type nat, and those of chains
// that one in the same table can jump to.
func (f filters) met() (n int) {
	for _, of := range f.rules {
		kind, hooked := f.types[of]
		if hooked && kind != nat || !hooked && f.meets[nftName{of.family, of.table, ""}] {
			n++
		}
	}
	return n
}

// hasModule reports whether the kernel has a module, loaded or built in: a request to a missing one would
// load it.
func hasModule(root fs.FS, name string) (bool, error) {
	loaded, err := fs.ReadFile(root, "proc/modules")
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // this kernel loads none, so a request does no harm
	}
	if err != nil {
		return false, err
	}
	if bytes.Contains(append([]byte("\n"), loaded...), []byte("\n"+name+" ")) {
		return true, nil
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return false, err
	}
	builtin, err := fs.ReadFile(root, "lib/modules/"+unix.ByteSliceToString(u.Release[:])+"/modules.builtin")
	if err != nil {
		return false, fmt.Errorf("cannot tell if this kernel has %s: %w", name, err)
	}
	return bytes.Contains(builtin, []byte("/"+name+".ko\n")), nil
}
