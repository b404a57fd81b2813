package lab

import (
	"testing"

	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/target"
)

// reader reads the result of steps through code that is not weir's.
func reader(t *testing.T, n target.Node) *netlink.Handle {
	t.Helper()
	nl, err := netlink.NewHandleAt(vnetns.NsHandle(n.(*place).ns.FD()), unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nl.Close)
	return nl
}
