package local

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/sample"
)

// Constants of include/uapi/linux/rtnetlink.h, pkt_sched.h and gen_stats.h that package unix lacks.
const (
	sizeofTcMsg                   = 20
	tcRoot                        = 0xffffffff // TC_H_ROOT
	statsBasic, statsQueue        = 1, 3
	statsPackets                  = 8 // TCA_STATS_PKT64: if 32 bits do not suffice
	sizeofBasic, sizeofStatsQueue = 12, 20
)

// Qdiscs returns the root queueing discipline of each device of the calling thread's network namespace,
// with the sum of what its queues counted.
func Qdiscs() ([]sample.Qdisc, error) {
	n, err := openNetlink(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("list queueing disciplines: %w", err)
	}
	defer n.close()
	var found []sample.Qdisc
	var devices []uint32
	err = n.ask(unix.RTM_GETQDISC, unix.NLM_F_DUMP, make([]byte, sizeofTcMsg), func(m syscall.NetlinkMessage) {
		if q, dev, ok := qdiscOf(m); ok {
			found, devices = append(found, q), append(devices, dev)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list queueing disciplines: %w", err)
	}
	return n.present(found, devices)
}

// present names the devices of disciplines, without those that are gone by now: on machines that others use,
// devices come and go.
func (n nlSocket) present(found []sample.Qdisc, devices []uint32) (all []sample.Qdisc, err error) {
	for i, q := range found {
		switch q.Dev, err = n.device(devices[i]); {
		case errors.Is(err, unix.ENODEV):
		case err != nil:
			return nil, fmt.Errorf("name the device of a queueing discipline: %w", err)
		default:
			all = append(all, q)
		}
	}
	return all, nil
}

func (n nlSocket) device(index uint32) (string, error) {
	r, err := unix.NewIfreq("")
	if err != nil {
		return "", err
	}
	r.SetUint32(index)
	if err := unix.IoctlIfreq(int(n), unix.SIOCGIFNAME, r); err != nil {
		return "", err
	}
	return r.Name(), nil
}

// qdiscOf reads a struct tcmsg with its attributes; ok is false unless it is a root.
func qdiscOf(m syscall.NetlinkMessage) (q sample.Qdisc, dev uint32, ok bool) {
	if m.Header.Type != unix.RTM_NEWQDISC || len(m.Data) < sizeofTcMsg || word(m.Data[12:]) != tcRoot {
		return q, 0, false
	}
	for kind, v := range attributes(m.Data[sizeofTcMsg:]) {
		switch kind {
		case unix.TCA_KIND:
			q.Kind = unix.ByteSliceToString(v)
		case unix.TCA_STATS2:
			count(&q, v)
		}
	}
	return q, word(m.Data[4:]), q.Kind != ""
}

// count reads the attributes of TCA_STATS2: structs gnet_stats_basic (bytes, packets) and gnet_stats_queue
// (length, backlog, drops, requeues, overlimits).
func count(q *sample.Qdisc, stats []byte) {
	for kind, v := range attributes(stats) {
		switch {
		case kind == statsBasic && len(v) >= sizeofBasic:
			q.Bytes, q.Packets = binary.NativeEndian.Uint64(v), uint64(word(v[8:]))
		case kind == statsPackets && len(v) >= 8:
			q.Packets = binary.NativeEndian.Uint64(v)
		case kind == statsQueue && len(v) >= sizeofStatsQueue:
			q.Drops, q.Requeues, q.Overlimits = uint64(word(v[8:])), uint64(word(v[12:])), uint64(word(v[16:]))
		}
	}
}
