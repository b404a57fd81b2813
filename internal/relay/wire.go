package relay

import (
	"encoding/binary"
	"errors"
)

// A datagram begins with its kind:
//
//	hello:  the sender's public key (32 bytes), and the receiver's as it knows it
//	answer: the same, to a hello
//	frames: the length of a frame (2 bytes, big-endian) and the frame, again and again
//	sealed: a number that is never used twice (8 bytes, big-endian), and the same as
//	        after frames, sealed
const (
	kindHello  = 0x11
	kindAnswer = 0x12
	kindFrames = 0x13
	kindSealed = 0x14
)

// What the parts of a datagram cost, in bytes.
const (
	kindSize    = 1
	lengthSize  = 2
	keySize     = 32
	counterSize = 8
	tagSize     = 16 // of Poly1305
	minFrame    = 14 // an Ethernet header
	maxDatagram = 65535 - 20 - 8
)

// Overhead of a datagram is what it holds beside its frames and their lengths.
func Overhead(encrypt bool) int {
	if encrypt {
		return kindSize + counterSize + tagSize
	}
	return kindSize
}

// FrameOverhead is what a frame costs in a datagram beside itself.
const FrameOverhead = lengthSize

var errMalformed = errors.New("malformed")

// appendFrame adds a frame to what a datagram holds.
func appendFrame(b, frame []byte) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(frame))), frame...)
}

// split calls each with every frame of b in order, or with none when b is malformed.
func split(b []byte, each func(frame []byte)) error {
	if len(b) == 0 {
		return errMalformed
	}
	for rest := b; len(rest) > 0; {
		if len(rest) < lengthSize {
			return errMalformed
		}
		n := int(binary.BigEndian.Uint16(rest))
		if n < minFrame || lengthSize+n > len(rest) {
			return errMalformed
		}
		rest = rest[lengthSize+n:]
	}
	for len(b) > 0 {
		n := lengthSize + int(binary.BigEndian.Uint16(b))
		each(b[lengthSize:n])
		b = b[n:]
	}
	return nil
}
