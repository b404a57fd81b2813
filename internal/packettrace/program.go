package packettrace

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/cilium/ebpf/asm"
)

// A point is a tracepoint and the arguments that a program reads besides the packet, its first one; 0
// without such an argument (include/trace/events/net.h and skb.h).
type point struct {
	name   string
	kind   Kind
	dev    int // the device; otherwise the packet names it
	reason int // of a drop; since Linux 5.17
}

// The first is the second once more; see warmed.
var points = []point{
	{name: "net_dev_queue", kind: warm},
	{name: "net_dev_queue", kind: Queue},
	{name: "net_dev_start_xmit", kind: Xmit, dev: 1},
	{name: "netif_rx", kind: Enter},
	{name: "napi_gro_receive_entry", kind: GRO},
	{name: "netif_receive_skb", kind: Receive},
	{name: "kfree_skb", kind: Drop, reason: 2},
}

// The layout of a record in the ring buffer.
const (
	recordAt     = 0  // u64, ns of CLOCK_MONOTONIC
	recordPacket = 8  // u64
	recordSocket = 16 // u64
	recordInode  = 24 // u32
	recordLen    = 28 // u32
	recordPoint  = 32 // u32, the index in points
	recordReason = 36 // u32
	recordDev    = 40 // 16 bytes, IFNAMSIZ
	recordHead   = 56
	recordSize   = recordHead + HeadSize
)

// noWakeup leaves the reader asleep: it reads after the recording (BPF_RB_NO_WAKEUP,
// include/uapi/linux/bpf.h).
const noWakeup = 1

// program returns the instructions for the point at index i, which records every packet whose device is in
// one of the namespaces with these inode numbers in the ring buffer, by descriptor. A packet that does not fit
// is counted in lost.
//
// It reads the clock first: the rest of its time is then the same before every event, and can be subtracted.
// The kernel knows the types behind the tracepoint's arguments, and turns a load through a bad pointer into
// zeros; no namespace has the number 0.
func program(l layout, i int, inodes []uint32, ring, lost int) asm.Instructions {
	p := points[i]
	const arguments, packet, dev, record, at, inode = asm.R6, asm.R7, asm.R9, asm.R0, asm.R8, asm.R2
	is := asm.Instructions{
		asm.Mov.Reg(arguments, asm.R1),
		asm.FnKtimeGetNs.Call(),
		asm.Mov.Reg(at, asm.R0),
		asm.LoadMem(packet, arguments, 0, asm.DWord),
	}
	if p.dev != 0 {
		is = append(is, asm.LoadMem(dev, arguments, int16(8*p.dev), asm.DWord))
	} else {
		is = append(is, asm.LoadMem(dev, packet, l.skbDev, asm.DWord))
	}
	is = append(is,
		asm.LoadMem(asm.R1, dev, l.devNamespace, asm.DWord),
		asm.LoadMem(inode, asm.R1, l.inode, asm.Word),
	)
	for _, n := range inodes {
		is = append(is, asm.JEq.Imm32(inode, int32(n), "named"))
	}
	is = append(is,
		asm.Ja.Label("exit"),

		asm.StoreMem(asm.RFP, onStack, inode, asm.Word).WithSymbol("named"),
		asm.LoadMapPtr(asm.R1, ring),
		asm.Mov.Imm(asm.R2, recordSize),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnRingbufReserve.Call(),
		asm.JEq.Imm(record, 0, "full"),

		asm.StoreMem(record, recordAt, at, asm.DWord),
		asm.StoreMem(record, recordPacket, packet, asm.DWord),
		asm.LoadMem(asm.R1, packet, l.skbSock, asm.DWord),
		asm.StoreMem(record, recordSocket, asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.RFP, onStack, asm.Word),
		asm.StoreMem(record, recordInode, asm.R1, asm.Word),
		asm.LoadMem(asm.R1, packet, l.skbLen, asm.Word),
		asm.StoreMem(record, recordLen, asm.R1, asm.Word),
		asm.StoreImm(record, recordPoint, int64(i), asm.Word),
		asm.LoadMem(asm.R1, dev, l.devName, asm.DWord),
		asm.StoreMem(record, recordDev, asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, dev, l.devName+8, asm.DWord),
		asm.StoreMem(record, recordDev+8, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R1, 0),
	)
	if p.reason != 0 {
		is = append(is, asm.LoadMem(asm.R1, arguments, int16(8*p.reason), asm.DWord))
	}
	return append(is,
		asm.StoreMem(record, recordReason, asm.R1, asm.Word),
		asm.LoadMem(asm.R3, packet, l.skbData, asm.DWord),
		asm.Mov.Reg(arguments, record), // which are no longer needed: R0 to R5 do not survive the call
		asm.Mov.Reg(asm.R1, record),
		asm.Add.Imm(asm.R1, recordHead),
		asm.Mov.Imm(asm.R2, HeadSize),
		asm.FnProbeReadKernel.Call(),
		asm.Mov.Reg(asm.R1, arguments),
		asm.Mov.Imm(asm.R2, noWakeup),
		asm.FnRingbufSubmit.Call(),
		asm.Ja.Label("exit"),

		// Two CPUs can count at the same moment and lose a count: only 0 must be exact.
		asm.StoreImm(asm.RFP, onStack, 0, asm.Word).WithSymbol("full"),
		asm.LoadMapPtr(asm.R1, lost),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, onStack),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "exit"),
		asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord),

		asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"),
		asm.Return(),
	)
}

// onStack is a place on the program's stack.
const onStack = -8

// parseRecord reads a record of the ring buffer. spaces names nodes by the number of their namespace.
func parseRecord(b []byte, spaces map[uint32]string, reasons map[uint32]string) (Event, error) {
	if len(b) < recordSize {
		return Event{}, fmt.Errorf("record of %d bytes: want %d", len(b), recordSize)
	}
	u32 := func(at int) uint32 { return binary.NativeEndian.Uint32(b[at:]) }
	u64 := func(at int) uint64 { return binary.NativeEndian.Uint64(b[at:]) }
	i := u32(recordPoint)
	if int(i) >= len(points) {
		return Event{}, fmt.Errorf("record of point %d: want one below %d", i, len(points))
	}
	dev, _, _ := strings.Cut(string(b[recordDev:recordHead]), "\x00")
	e := Event{At: int64(u64(recordAt)), Kind: points[i].kind, Node: spaces[u32(recordInode)], Dev: dev,
		Packet: u64(recordPacket), Socket: u64(recordSocket), Len: int(u32(recordLen))}
	e.Head = append(e.Head, b[recordHead:recordHead+min(HeadSize, e.Len)]...)
	if e.Kind == Drop {
		e.Reason = reasons[u32(recordReason)]
		if e.Reason == "" {
			e.Reason = fmt.Sprintf("reason %#x", u32(recordReason))
		}
	}
	return e, nil
}
