// Package wire is the protocol between the two ends of a run: the header of every datagram, the
// control messages, and the bounds of a client's requests.
//
// It encodes, decodes and checks, and does no I/O. Package event holds the output for other
// programs.
package wire

import (
	"encoding/binary"

	"github.com/weir-bench/weir/internal/engine/event"
)

// A Header starts every UDP datagram of the engine, most significant byte first:
//
//	0  2  magic
//	2  1  kind
//	3  3  run: a random number that a client chooses; other runs are ignored
//	6  5  sequence number, from 0, per kind
//	11 5  time of sending, nanoseconds modulo 2^40 (18 minutes) on the sender's clock;
//	      in KindBegin the number of the first datagram that counts, higher in every phase;
//	      in KindConnect 1 in the transactions at the edges of the window, otherwise 0
//
// It has 16 bytes because that is the smallest datagram of comparable tools (iperf3), and packet
// rates are measured with the smallest.
type Header struct {
	Kind Kind
	Run  uint32 // 24 bits
	Seq  uint64 // 40 bits
	Sent uint64 // 40 bits
}

const (
	HeaderSize = event.MinDatagram
	magic      = 0x57e1
	MaxRun     = 1<<24 - 1
	Mask40     = 1<<40 - 1
)

type Kind uint8

// The answer to a request has the same kind with the highest bit set, and the same run and sequence
// number.
const (
	KindWarmup  Kind = iota + 1 // data, not counted
	KindMeasure                 // data, counted
	KindEcho                    // answered with the same bytes
	KindReach                   // the same, never fragmented
	KindHello                   // JSON Params; answered with JSON Accepted
	KindBegin                   // the counters start; answered with nothing
	KindReport                  // answered with a JSON UDPReport
	KindStamped                 // KindEcho whose time stamps the server keeps
	KindStamps                  // a sample's number; answered with the server's samples from there on
	KindConnect                 // the request of tcp-crr; answered with the same bytes
	KindClock                   // answered with a JSON Reading of the thread that answers
	kindLast    = KindClock
	KindAnswer  = Kind(0x80)
)

func (h Header) Put(b []byte) {
	_ = b[HeaderSize-1]
	binary.BigEndian.PutUint16(b, magic)
	b[2] = byte(h.Kind)
	b[3], b[4], b[5] = byte(h.Run>>16), byte(h.Run>>8), byte(h.Run)
	put40(b[6:], h.Seq)
	put40(b[11:], h.Sent)
}

// ParseHeader reports false unless b is a datagram of the engine.
func ParseHeader(b []byte) (Header, bool) {
	if len(b) < HeaderSize || binary.BigEndian.Uint16(b) != magic {
		return Header{}, false
	}
	h := Header{
		Kind: Kind(b[2]),
		Run:  uint32(b[3])<<16 | uint32(b[4])<<8 | uint32(b[5]),
		Seq:  get40(b[6:]),
		Sent: get40(b[11:]),
	}
	request := h.Kind &^ KindAnswer
	return h, request >= KindWarmup && request <= kindLast
}

func put40(b []byte, v uint64) {
	b[0] = byte(v >> 32)
	binary.BigEndian.PutUint32(b[1:], uint32(v))
}

func get40(b []byte) uint64 { return uint64(b[0])<<32 | uint64(binary.BigEndian.Uint32(b[1:])) }

// Diff40 returns a-b for two numbers modulo 2^40 that are less than 2^39 apart.
func Diff40(a, b uint64) int64 { return int64((a-b)<<24) >> 24 }
