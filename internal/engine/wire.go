package engine

import (
	"encoding/binary"

	"github.com/weir-bench/weir/internal/engine/event"
)

// A header starts every UDP datagram of the engine, most significant byte first:
//
//	0  2  magic
//	2  1  kind
//	3  3  run: a random number that a client chooses; other runs are ignored
//	6  5  sequence number, from 0, per kind
//	11 5  time of sending, nanoseconds modulo 2^40 (18 minutes) on the sender's clock;
//	      of kindBegin the number of the first datagram that counts, higher in every phase
//
// It is 16 bytes because that is the smallest datagram that comparable tools
// send (iperf3), and packet rates are measured with the smallest.
type header struct {
	kind kind
	run  uint32 // 24 bits
	seq  uint64 // 40 bits
	sent uint64 // 40 bits
}

const (
	headerSize = event.MinDatagram
	magic      = 0x57e1
	maxRun     = 1<<24 - 1
	mask40     = 1<<40 - 1
)

type kind uint8

// What a datagram is. The answer to a request has the same kind with the
// highest bit set, and the same run and sequence number.
const (
	kindWarmup  kind = iota + 1 // data, not counted
	kindMeasure                 // data, counted
	kindEcho                    // answered with the same bytes
	kindReach                   // the same, never fragmented
	kindHello                   // JSON params; answered with JSON accepted
	kindBegin                   // the counters start; answered with nothing
	kindReport                  // answered with a JSON udpReport
	kindStamped                 // kindEcho, of which the server keeps its time stamps
	kindStamps                  // the number of a sample; answered with the server's samples from there on
	kindConnect                 // the request of tcp-crr; answered with the same bytes
	kindLast    = kindConnect
	kindAnswer  = kind(0x80)
)

func (h header) put(b []byte) {
	_ = b[headerSize-1]
	binary.BigEndian.PutUint16(b, magic)
	b[2] = byte(h.kind)
	b[3], b[4], b[5] = byte(h.run>>16), byte(h.run>>8), byte(h.run)
	put40(b[6:], h.seq)
	put40(b[11:], h.sent)
}

// parseHeader reports false for what is not a datagram of the engine.
func parseHeader(b []byte) (header, bool) {
	if len(b) < headerSize || binary.BigEndian.Uint16(b) != magic {
		return header{}, false
	}
	h := header{
		kind: kind(b[2]),
		run:  uint32(b[3])<<16 | uint32(b[4])<<8 | uint32(b[5]),
		seq:  get40(b[6:]),
		sent: get40(b[11:]),
	}
	request := h.kind &^ kindAnswer
	return h, request >= kindWarmup && request <= kindLast
}

func put40(b []byte, v uint64) {
	b[0] = byte(v >> 32)
	binary.BigEndian.PutUint32(b[1:], uint32(v))
}

func get40(b []byte) uint64 {
	return uint64(b[0])<<32 | uint64(binary.BigEndian.Uint32(b[1:]))
}

// diff40 returns a-b for two numbers modulo 2^40 that are less than 2^39 apart.
func diff40(a, b uint64) int64 { return int64((a-b)<<24) >> 24 }
