package relay

import (
	"encoding/binary"
	"errors"
)

// A datagram begins with its kind:
//
//	hello:  the sender's public key (32 bytes), and the receiver's as the sender knows it
//	answer: the same, in reply to a hello
//	frames: the length of a frame (2 bytes, big-endian) and the frame, repeated
//	sealed: a number that is never used twice (8 bytes, big-endian), then the same
//	        content as in frames, sealed
const (
	kindHello  = 0x11
	kindAnswer = 0x12
	kindFrames = 0x13
	kindSealed = 0x14
)

// Sizes of the parts of a datagram, in bytes.
const (
	kindSize    = 1
	lengthSize  = 2
	keySize     = 32
	counterSize = 8
	tagSize     = 16 // of Poly1305
	minFrame    = 14 // the size of an Ethernet header
	maxDatagram = 65535 - 20 - 8
)

// Overhead returns the bytes of a datagram besides its frames and their lengths.
func Overhead(encrypt bool) int {
	if encrypt {
		return kindSize + counterSize + tagSize
	}
	return kindSize
}

// FrameOverhead is the number of bytes that each frame adds to a datagram besides its own.
const FrameOverhead = lengthSize

var errMalformed = errors.New("malformed")

// appendFrame appends a frame and its length to the content of a datagram.
func appendFrame(b, frame []byte) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(frame))), frame...)
}

// split calls each with every frame of b in order, or not at all if b is malformed.
func split(b []byte, each func(frame []byte)) error {
	if len(b) == 0 {
		return errMalformed
	}
	for left := b; len(left) > 0; {
		if len(left) < lengthSize {
			return errMalformed
		}
		n := int(binary.BigEndian.Uint16(left))
		if n < minFrame || lengthSize+n > len(left) {
			return errMalformed
		}
		left = left[lengthSize+n:]
	}
	for len(b) > 0 {
		n := lengthSize + int(binary.BigEndian.Uint16(b))
		each(b[lengthSize:n])
		b = b[n:]
	}
	return nil
}
