package local

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/topo"
)

// sysctls are the settings of a network namespace that change what a path costs or carries. The kernel
// hides some of them in all namespaces but the first.
var sysctls = []string{
	"net.core.default_qdisc", "net.core.netdev_budget", "net.core.netdev_max_backlog",
	"net.core.rmem_default", "net.core.rmem_max", "net.core.wmem_default", "net.core.wmem_max",
	"net.ipv4.conf.all.rp_filter", "net.ipv4.ip_forward", "net.ipv4.ip_no_pmtu_disc",
	"net.ipv4.tcp_congestion_control", "net.ipv4.tcp_ecn", "net.ipv4.tcp_moderate_rcvbuf", "net.ipv4.tcp_mtu_probing", "net.ipv4.tcp_rmem", "net.ipv4.tcp_window_scaling", "net.ipv4.tcp_wmem",
}

// Settings is SettingsOf for this process.
func Settings(devs []string, far []netip.Addr) evidence.Node {
	return SettingsOf(os.DirFS("/"), devs, far)
}

// SettingsOf reads what holds in the calling thread's network namespace, whose files root shows: the
// settings of devices (those that exist), and the path MTU that it learned toward far addresses. It changes
// nothing, and it loads no kernel module.
func SettingsOf(root fs.FS, devs []string, far []netip.Addr) evidence.Node {
	p := evidence.Node{Devices: map[string]evidence.Device{}, BridgeNF: map[string]string{}, Sysctl: map[string]string{}}
	unknown := func(what string, err error) {
		if err != nil {
			p.Unknown = append(p.Unknown, fmt.Sprintf("%s: %v", what, err))
		}
	}
	mtus, indices := map[int]int{}, map[string]int{}
	ms, err := dumped(unix.RTM_GETLINK)
	unknown("devices", err)
	for _, m := range ms {
		if name, index, d := deviceOf(m); name != "" {
			mtus[index] = d.MTU
			if slices.Contains(devs, name) {
				p.Devices[name], indices[name] = d, index
			}
		}
	}
	unknown("features", features(p.Devices))
	unknown("rates of queueing disciplines", shapers(p.Devices, indices))
	unknown("RPS and XPS", steering(root, p.Devices, indices))
	for _, table := range topo.BridgeNFTables {
		key := "net.bridge.bridge-nf-call-" + table
		if v, ok := sysctl(root, key); ok {
			p.BridgeNF[key] = v
		}
	}
	for _, key := range sysctls {
		if v, ok := sysctl(root, key); ok {
			p.Sysctl[key] = v
		}
	}
	p.Rules, p.PacketRules, err = rules(root)
	unknown("packet-filter rules", err)
	if v, ok := sysctl(root, "net.netfilter.nf_conntrack_count"); ok {
		if n, err := strconv.Atoi(v); err == nil && n > 0 {
			p.Tracked = &n
		}
	}
	for _, to := range far {
		mtu, learned, err := pathMTU(to, mtus)
		unknown(fmt.Sprintf("path MTU to %v", to), err)
		all := &p.RouteMTU
		if learned {
			all = &p.PathMTU
		}
		if mtu > 0 && *all == nil {
			*all = map[string]int{}
		}
		if mtu > 0 {
			(*all)[to.String()] = mtu
		}
	}
	return p
}

// sysctl reads a setting; ok is false if the kernel or this namespace does not have it.
func sysctl(root fs.FS, key string) (v string, ok bool) {
	b, err := fs.ReadFile(root, "proc/sys/"+strings.ReplaceAll(key, ".", "/"))
	return strings.Join(strings.Fields(string(b)), " "), err == nil
}

// deviceOf reads a struct ifinfomsg with its attributes; the name is "" for other messages.
func deviceOf(m syscall.NetlinkMessage) (name string, index int, d evidence.Device) {
	if m.Header.Type != unix.RTM_NEWLINK || len(m.Data) < unix.SizeofIfInfomsg {
		return "", 0, d
	}
	for kind, v := range attributes(m.Data[unix.SizeofIfInfomsg:]) {
		switch kind {
		case unix.IFLA_IFNAME:
			name = unix.ByteSliceToString(v)
		case unix.IFLA_MTU:
			d.MTU = int(word(v))
		case unix.IFLA_GSO_MAX_SIZE:
			d.GSOMax = int(word(v))
		case unix.IFLA_GSO_MAX_SEGS:
			d.GSOSegs = int(word(v))
		case unix.IFLA_GRO_MAX_SIZE:
			d.GROMax = int(word(v))
		case unix.IFLA_QDISC:
			d.Qdisc = unix.ByteSliceToString(v)
		case unix.IFLA_LINKINFO:
			for kind, v := range attributes(v) {
				if kind == unix.IFLA_INFO_KIND {
					d.Kind = unix.ByteSliceToString(v)
				}
			}
		}
	}
	return name, int(int32(word(m.Data[4:]))), d
}

func features(devices map[string]evidence.Device) error {
	e, err := OpenEthtool()
	if err != nil {
		return err
	}
	defer e.Close()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		d := devices[name]
		if d.Features, err = e.Features(name); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		devices[name] = d
	}
	return errors.Join(errs...)
}

// mostQueues bounds the queues of a device whose masks are read.
const mostQueues = 64

var errOtherSys = errors.New("/sys does not show the devices of this network namespace")

// steering reads the masks of CPUs of each device's queues.
func steering(root fs.FS, devices map[string]evidence.Device, indices map[string]int) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		d, dir := devices[name], "sys/class/net/"+name
		index, err := fs.ReadFile(root, dir+"/ifindex")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if strings.TrimSpace(string(index)) != strconv.Itoa(indices[name]) {
			return errOtherSys
		}
		d.RPS, d.XPS = masks(root, dir+"/queues/rx-%d/rps_cpus"), masks(root, dir+"/queues/tx-%d/xps_cpus")
		devices[name] = d
	}
	return errors.Join(errs...)
}

// masks reads a file of each queue in hexadecimal; none if no queue has a mask.
func masks(root fs.FS, pattern string) (all []string) {
	some := false
	for n := range mostQueues {
		b, err := fs.ReadFile(root, fmt.Sprintf(pattern, n))
		if err != nil { // the last queue was before; a device with one has no XPS
			break
		}
		mask := strings.TrimLeft(strings.TrimSpace(string(b)), "0,")
		some = some || mask != ""
		all = append(all, mask)
	}
	if !some {
		return nil
	}
	return all
}

// pathMTU returns the path MTU toward an address if it differs from the MTU of the device, else 0, and whether the
// kernel learned it: then it expires. Otherwise somebody stated it on the route. The kernel reports it as a metric of
// the route (rt_fill_info, net/ipv4/route.c).
func pathMTU(to netip.Addr, mtus map[int]int) (mtu int, learned bool, err error) {
	const expires = 8 // in struct rta_cacheinfo, include/uapi/linux/rtnetlink.h
	index := 0
	err = route(to.Unmap(), func(kind int, v []byte) {
		switch kind {
		case unix.RTA_OIF:
			index = int(word(v))
		case unix.RTA_CACHEINFO:
			learned = len(v) >= expires+4 && word(v[expires:]) != 0
		case unix.RTA_METRICS:
			for metric, v := range attributes(v) {
				if metric == unix.RTAX_MTU {
					mtu = int(word(v))
				}
			}
		}
	})
	if err != nil || mtu == mtus[index] {
		return 0, false, err
	}
	return mtu, learned, nil
}
