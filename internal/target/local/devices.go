package local

import (
	"cmp"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/facts"
)

// Devices describes the network devices of this process's network namespace that are up, for facts.
func Devices() map[string]facts.Device {
	links, err := Links()
	fd, bad := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil || bad != nil {
		return nil // they stay unknown
	}
	defer unix.Close(fd)
	all := map[string]facts.Device{}
	for _, l := range links {
		if l.Name == "lo" || !l.Up {
			continue
		}
		d := facts.Device{Kind: cmp.Or(l.Kind, facts.Physical), Driver: l.Driver, Speed: float64(l.Speed) * 1e6, MTU: l.MTU}
		d.RxQueues, d.TxQueues = queues(l)
		d.Offloads = offloads(fd, l.Name)
		all[l.Name] = d
	}
	return facts.SomeDevices(all)
}

// queues counts the queues of a device; 0 where /sys belongs to another network namespace.
func queues(l Link) (rx, tx int) {
	if !inSys(l) {
		return 0, 0
	}
	all, _ := os.ReadDir("/sys/class/net/" + l.Name + "/queues")
	for _, q := range all {
		switch {
		case strings.HasPrefix(q.Name(), "rx-"):
			rx++
		case strings.HasPrefix(q.Name(), "tx-"):
			tx++
		}
	}
	return rx, tx
}

// queries are commands that anyone can use (include/uapi/linux/ethtool.h, net/ethtool/ioctl.c), with the
// names of their features in ethtool(8) -k.
var queries = []struct {
	command uint32
	name    string
}{
	{0x14, "rx-checksumming"},              // ETHTOOL_GRXCSUM
	{0x16, "tx-checksumming"},              // ETHTOOL_GTXCSUM
	{0x18, "scatter-gather"},               // ETHTOOL_GSG
	{0x1e, "tcp-segmentation-offload"},     // ETHTOOL_GTSO
	{0x23, "generic-segmentation-offload"}, // ETHTOOL_GGSO
	{0x2b, "generic-receive-offload"},      // ETHTOOL_GGRO
}

const (
	getFlags = 0x25    // ETHTOOL_GFLAGS
	flagLRO  = 1 << 15 // ETH_FLAG_LRO
)

// offloads returns the active ones of queries; nil if the device answers none.
func offloads(fd int, dev string) (on []string) {
	answered := false
	for _, q := range queries {
		v, ok := ask(fd, dev, q.command)
		answered = answered || ok
		if ok && v != 0 {
			on = append(on, q.name)
		}
	}
	if v, ok := ask(fd, dev, getFlags); ok && v&flagLRO != 0 {
		on = append(on, "large-receive-offload")
	}
	if answered && on == nil {
		return []string{"none"}
	}
	return on
}

// ask reads a value of a device by ioctl(2). The request holds the address of the value as a pointer: as
// a number, it would go stale when the runtime moves the stack.
func ask(fd int, dev string, command uint32) (uint32, bool) {
	value := struct{ command, data uint32 }{command: command} // struct ethtool_value
	request := struct {                                       // struct ifreq
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: unsafe.Pointer(&value)}
	if len(dev) >= len(request.name) {
		return 0, false
	}
	copy(request.name[:], dev)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	runtime.KeepAlive(&value)
	return value.data, errno == 0
}
