package redirect

import (
	"encoding/binary"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// A hook is what differs between the places where a program can run. The offsets are those of its
// context, struct xdp_md or __sk_buff (include/uapi/linux/bpf.h).
type hook struct {
	data, end int16 // of the packet, from its Ethernet header
	dev       int16 // the device that the packet came from
	sized     bool  // the program, not the helper, says how long the packet is: the helper sees no buffer
	pass      int32 // the result that gives the packet to the stack
	to        asm.BuiltinFunc
}

var (
	atXDP   = hook{data: 0, end: 4, dev: 12, sized: true, pass: 2, to: asm.FnRedirect}
	fromPod = hook{data: 76, end: 80, dev: 40, to: asm.FnRedirect}
	toPod   = hook{data: 76, end: 80, dev: 40, to: asm.FnRedirectPeer} // past the backlog of the pod's device
)

// Offsets in a frame: Ethernet, then IPv4 without options.
const (
	ethDst   = 0
	ethSrc   = 6
	ethType  = 12
	ip       = 14
	ipTOS    = ip + 1
	ipLen    = ip + 2
	ipTTL    = ip + 8
	ipSum    = ip + 10
	ipSrc    = ip + 12
	ipDst    = ip + 16
	headers  = ip + 20
	version4 = 0x45 // and a header of 5 words
)

// Offsets of struct bpf_fib_lookup (include/uapi/linux/bpf.h), which is on the program's stack.
const (
	fib       = -fibSize
	fibSize   = 64
	fibFamily = fib
	fibLen    = fib + 6
	fibDev    = fib + 8 // in: the device that received the packet; out: the one to send it
	fibTOS    = fib + 12
	fibSrc    = fib + 16
	fibDst    = fib + 32
	fibSMAC   = fib + 52
	fibDMAC   = fib + 58
)

// program returns the instructions for a hook. A packet goes to the IP stack unless it is plain IPv4,
// lives for another hop, and the kernel knows the next hop, on another device, and its MAC address
// (BPF_FIB_LKUP_RET_SUCCESS is 0).
func program(h hook) asm.Instructions {
	const context, data, from = asm.R6, asm.R7, asm.R8
	is := asm.Instructions{
		asm.Mov.Reg(context, asm.R1),
		asm.LoadMem(data, context, h.data, asm.Word),
		asm.LoadMem(asm.R2, context, h.end, asm.Word),
		asm.Mov.Reg(asm.R1, data),
		asm.Add.Imm(asm.R1, headers),
		asm.JGT.Reg(asm.R1, asm.R2, "pass"),
		asm.LoadMem(asm.R1, data, ethType, asm.Half),
		asm.JNE.Imm(asm.R1, int32(bigEndian(unix.ETH_P_IP)), "pass"),
		asm.LoadMem(asm.R1, data, ip, asm.Byte),
		asm.JNE.Imm(asm.R1, version4, "pass"),
		asm.LoadMem(asm.R1, data, ipTTL, asm.Byte),
		asm.JLE.Imm(asm.R1, 1, "pass"),
		asm.Mov.Imm(asm.R1, 0),
	}
	for at := int16(fib); at < 0; at += 8 {
		is = append(is, asm.StoreMem(asm.RFP, at, asm.R1, asm.DWord))
	}
	if h.sized {
		is = append(is,
			asm.LoadMem(asm.R1, data, ipLen, asm.Half),
			asm.HostTo(asm.BE, asm.R1, asm.Half),
			asm.StoreMem(asm.RFP, fibLen, asm.R1, asm.Half))
	}
	return append(is,
		asm.StoreImm(asm.RFP, fibFamily, unix.AF_INET, asm.Byte),
		asm.LoadMem(from, context, h.dev, asm.Word),
		asm.StoreMem(asm.RFP, fibDev, from, asm.Word),
		asm.LoadMem(asm.R1, data, ipTOS, asm.Byte),
		asm.StoreMem(asm.RFP, fibTOS, asm.R1, asm.Byte),
		asm.LoadMem(asm.R1, data, ipSrc, asm.Word),
		asm.StoreMem(asm.RFP, fibSrc, asm.R1, asm.Word),
		asm.LoadMem(asm.R1, data, ipDst, asm.Word),
		asm.StoreMem(asm.RFP, fibDst, asm.R1, asm.Word),
		asm.Mov.Reg(asm.R1, context),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, fib),
		asm.Mov.Imm(asm.R3, fibSize),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnFibLookup.Call(),
		asm.JNE.Imm(asm.R0, 0, "pass"),
		asm.LoadMem(asm.R1, asm.RFP, fibDev, asm.Word),
		asm.JEq.Reg(asm.R1, from, "pass"),

		// A MAC address is a word and a half; loads from the stack have to be aligned.
		asm.LoadMem(asm.R1, asm.RFP, fibDMAC, asm.Half),
		asm.StoreMem(data, ethDst, asm.R1, asm.Half),
		asm.LoadMem(asm.R1, asm.RFP, fibDMAC+2, asm.Word),
		asm.StoreMem(data, ethDst+2, asm.R1, asm.Word),
		asm.LoadMem(asm.R1, asm.RFP, fibSMAC, asm.Word),
		asm.StoreMem(data, ethSrc, asm.R1, asm.Word),
		asm.LoadMem(asm.R1, asm.RFP, fibSMAC+4, asm.Half),
		asm.StoreMem(data, ethSrc+4, asm.R1, asm.Half),

		// As in ip_decrease_ttl (include/net/ip.h).
		asm.LoadMem(asm.R1, data, ipSum, asm.Half),
		asm.Add.Imm(asm.R1, int32(bigEndian(0x0100))),
		asm.JLT.Imm(asm.R1, 0xffff, "summed"),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(data, ipSum, asm.R1, asm.Half).WithSymbol("summed"),
		asm.LoadMem(asm.R1, data, ipTTL, asm.Byte),
		asm.Sub.Imm(asm.R1, 1),
		asm.StoreMem(data, ipTTL, asm.R1, asm.Byte),

		asm.LoadMem(asm.R1, asm.RFP, fibDev, asm.Word),
		asm.Mov.Imm(asm.R2, 0),
		h.to.Call(),
		asm.Return(),

		asm.Mov.Imm(asm.R0, h.pass).WithSymbol("pass"),
		asm.Return(),
	)
}

// bigEndian returns how a machine reads two bytes in network order.
func bigEndian(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}
