package local

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// legacyTables list the tables of the older packet filters that a network namespace has begun to use
// (net/netfilter/x_tables.c, xt_proto_init).
var legacyTables = []string{"ip_tables_names", "ip6_tables_names", "arp_tables_names"}

// rules counts the rules of nftables in the calling thread's network namespace, in all tables and
// families. It does not know the older filters' rules, so an error names their tables.
func rules(root fs.FS) (*int, error) {
	for _, name := range legacyTables {
		b, err := fs.ReadFile(root, "proc/net/"+name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case len(bytes.TrimSpace(b)) > 0:
			return nil, fmt.Errorf("not counted: /proc/net/%s lists %s", name, strings.Join(strings.Fields(string(b)), ", "))
		}
	}
	switch ok, err := hasModule(root, "nf_tables"); {
	case err != nil:
		return nil, err
	case !ok:
		return new(int), nil
	}
	n, err := openNetlink(unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, err
	}
	defer n.close()
	count := 0
	const getRule = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETRULE
	anyFamily := make([]byte, 4) // struct nfgenmsg
	err = n.ask(getRule, unix.NLM_F_DUMP, anyFamily, func(syscall.NetlinkMessage) { count++ })
	if err != nil {
		return nil, err // EPERM without CAP_NET_ADMIN in the namespace
	}
	return &count, nil
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
