package local

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/sample"
)

// attr is a netlink attribute with its padding.
func attr(kind int, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(unix.SizeofRtAttr+len(value)))
	b = append(binary.NativeEndian.AppendUint16(b, uint16(kind)), value...)
	return append(b, make([]byte, (unix.RTA_ALIGNTO-len(b)%unix.RTA_ALIGNTO)%unix.RTA_ALIGNTO)...)
}

func words(vs ...uint32) (b []byte) {
	for _, v := range vs {
		b = binary.NativeEndian.AppendUint32(b, v)
	}
	return b
}

func TestQdiscOf(t *testing.T) {
	stats := slices.Concat(attr(statsBasic, words(1000, 0, 7, 0)), attr(statsQueue, words(1, 2, 3, 4, 5)))
	message := func(parent uint32, more ...byte) syscall.NetlinkMessage {
		return syscall.NetlinkMessage{Header: syscall.NlMsghdr{Type: unix.RTM_NEWQDISC},
			Data: slices.Concat(words(0, 3, 0x80010000, parent, 2), attr(unix.TCA_KIND, []byte("tbf\x00")), attr(unix.TCA_STATS2, append(slices.Clone(stats), more...)))}
	}
	want := sample.Qdisc{Kind: "tbf", Bytes: 1000, Packets: 7, Drops: 3, Requeues: 4, Overlimits: 5}
	if q, dev, ok := qdiscOf(message(tcRoot)); !ok || dev != 3 || q != want {
		t.Errorf("%+v of device %d, %v, want %+v of 3", q, dev, ok, want)
	}
	want.Packets = 1<<32 + 7
	if q, _, _ := qdiscOf(message(tcRoot, attr(statsPackets, binary.NativeEndian.AppendUint64(nil, 1<<32+7))...)); q != want {
		t.Errorf("%+v, want %+v", q, want)
	}
	if q, _, ok := qdiscOf(message(0x80010000)); ok {
		t.Errorf("a child is a root: %+v", q)
	}
	cut := message(tcRoot)
	for n := range cut.Data {
		qdiscOf(syscall.NetlinkMessage{Header: cut.Header, Data: cut.Data[:n]}) // must not panic
	}
}

// The rate of a token bucket is in its parameters, or beside them if it does not fit; that of htb is the ceiling of a class.
func TestShaperOf(t *testing.T) {
	spec := func(rate uint32) []byte { return words(0, 0, rate) }
	for name, c := range map[string]struct {
		kind        string
		options     []byte
		rate, burst float64
	}{
		"tbf":       {"tbf", attr(tbfParms, slices.Concat(spec(12_500_000), spec(0), words(4096, 15625, 0))), 1e8, 12_500},
		"fast tbf":  {"tbf", slices.Concat(attr(tbfParms, slices.Concat(spec(1<<32-1), spec(0), words(4096, 15625, 0))), attr(tbfRate64, words(1e9, 1))), 8 * (1<<32 + 1e9), (1<<32 + 1e9) / 1000},
		"htb":       {"htb", attr(htbParms, slices.Concat(spec(1e6), spec(1e8), words(0, 0))), 8e8, 0},
		"another":   {"fq", attr(1, words(1, 2, 3, 4, 5, 6, 7, 8, 9)), 0, 0},
		"cut short": {"tbf", attr(tbfParms, spec(1)), 0, 0},
	} {
		m := syscall.NetlinkMessage{Data: slices.Concat(make([]byte, sizeofTcMsg), attr(unix.TCA_KIND, []byte(c.kind+"\x00")), attr(unix.TCA_OPTIONS, c.options))}
		if rate, burst := shaperOf(m); rate != c.rate || burst != c.burst {
			t.Errorf("%s: %g bit/s, %g bytes, want %g and %g", name, rate, burst, c.rate, c.burst)
		}
		for n := sizeofTcMsg; n < len(m.Data); n++ {
			shaperOf(syscall.NetlinkMessage{Data: m.Data[:n]}) // must not panic
		}
	}
}

// A device that vanishes while its discipline is read takes only its own counters along.
func TestQdiscOfAVanishedDevice(t *testing.T) {
	n, err := openNetlink(unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	got, err := n.present([]sample.Qdisc{{Kind: "gone"}, {Kind: "noqueue"}}, []uint32{1<<31 - 1, 1}) // lo is 1
	if want := []sample.Qdisc{{Dev: "lo", Kind: "noqueue"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

// A device whose queues cannot be read leaves those of others known.
func TestSteering(t *testing.T) {
	root := fstest.MapFS{"sys/class/net/b/ifindex": {Data: []byte("2\n")}, "sys/class/net/b/queues/rx-0/rps_cpus": {Data: []byte("3\n")}}
	devices := map[string]evidence.Device{"a": {}, "b": {}, "c": {}}
	if err := steering(root, devices, map[string]int{"a": 1, "b": 2, "c": 3}); !errors.Is(err, fs.ErrNotExist) || !slices.Equal(devices["b"].RPS, []string{"3"}) {
		t.Errorf("%+v, %v", devices, err)
	}
}

func TestSettingsHere(t *testing.T) {
	qdiscs, err := Qdiscs()
	if err != nil || !slices.ContainsFunc(qdiscs, func(q sample.Qdisc) bool { return q.Dev == "lo" }) {
		t.Errorf("%+v, %v: want that of the loopback device", qdiscs, err)
	}
	p := Settings([]string{"lo", "none0"}, []netip.Addr{netip.MustParseAddr("127.0.0.1")})
	lo, ok := p.Devices["lo"]
	if !ok || len(p.Devices) != 1 || lo.MTU == 0 || lo.Qdisc == "" || len(lo.Features) < 32 {
		t.Errorf("%+v", p)
	}
	if len(p.PathMTU) > 0 || p.Sysctl["net.ipv4.ip_forward"] == "" {
		t.Errorf("%+v", p)
	}
	if (p.Rules == nil) != slices.ContainsFunc(p.Unknown, func(s string) bool { return len(s) > 12 && s[:12] == "packet-filte" }) {
		t.Errorf("%v rules, but unknown is %v", p.Rules, p.Unknown)
	}
}

// A module that is not there is not asked for, because that would load it.
func TestHasModule(t *testing.T) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	builtin := "lib/modules/" + unix.ByteSliceToString(u.Release[:]) + "/modules.builtin"
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	for name, c := range map[string]struct {
		root fstest.MapFS
		want bool
		err  error
	}{
		"no modules":       {fstest.MapFS{}, true, nil},
		"loaded":           {fstest.MapFS{"proc/modules": text("a 1 0 - Live 0x0\nnf_tables 2 1 nft_ct, Live 0x0\n")}, true, nil},
		"loaded first":     {fstest.MapFS{"proc/modules": text("nf_tables 2 1 nft_ct, Live 0x0\n")}, true, nil},
		"built in":         {fstest.MapFS{"proc/modules": text("a 1 0\n"), builtin: text("kernel/net/netfilter/nf_tables.ko\n")}, true, nil},
		"neither":          {fstest.MapFS{"proc/modules": text("x_nf_tables 1 0\n"), builtin: text("kernel/net/a.ko\n")}, false, nil},
		"nothing about it": {fstest.MapFS{"proc/modules": text("a 1 0\n")}, false, fs.ErrNotExist},
	} {
		if got, err := hasModule(c.root, "nf_tables"); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v, want %v, %v", name, got, err, c.want, c.err)
		}
	}
	legacy := fstest.MapFS{"proc/net/ip_tables_names": text("filter\nnat\n")}
	if n, _, err := rules(legacy); n != nil || err == nil || err.Error() != "not counted: /proc/net/ip_tables_names lists filter, nat" {
		t.Errorf("%v rules, %v", n, err)
	}
}

// Whatever the attributes of a netlink message are, reading them ends and stays within the message.
func FuzzAttributes(f *testing.F) {
	name, kind := attr(unix.IFLA_IFNAME, []byte("eth0\x00")), attr(unix.IFLA_LINKINFO, attr(unix.IFLA_INFO_KIND, []byte("veth\x00")))
	f.Add(slices.Concat(words(0, 7, unix.IFF_UP, 0), name, kind, attr(unix.IFLA_MTU, words(1500)), attr(unix.IFLA_LINK, words(3)), attr(unix.IFLA_MASTER, words(4))))
	f.Add(slices.Concat(words(0, 7, 0x80010000, tcRoot, 2), attr(unix.TCA_KIND, []byte("tbf\x00")),
		attr(unix.TCA_STATS2, slices.Concat(attr(statsBasic, words(1000, 0, 7, 0)), attr(statsQueue, words(1, 2, 3, 4, 5)), attr(statsPackets, words(1, 1))))))
	f.Add(slices.Concat(words(0x1802, 7), attr(unix.IFA_LOCAL, []byte{10, 0, 0, 1}), attr(unix.IFA_ADDRESS, []byte{10, 0, 0, 2})))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		of := func(kind uint16) syscall.NetlinkMessage {
			return syscall.NetlinkMessage{Header: syscall.NlMsghdr{Type: kind}, Data: data}
		}
		for _, l := range linksOf([]syscall.NetlinkMessage{of(unix.RTM_NEWLINK)}, []syscall.NetlinkMessage{of(unix.RTM_NEWADDR)}) {
			if strings.Contains(l.Name+l.Kind, "\x00") || slices.ContainsFunc(l.Addrs, func(p netip.Prefix) bool { return !p.IsValid() }) {
				t.Errorf("%+v", l)
			}
		}
		deviceOf(of(unix.RTM_NEWLINK))
		if q, _, ok := qdiscOf(of(unix.RTM_NEWQDISC)); ok && q.Kind == "" {
			t.Errorf("%+v", q)
		}
	})
}
