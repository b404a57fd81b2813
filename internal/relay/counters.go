package relay

import "sync/atomic"

// A Count is what a relay counted and prints when it ends. Bytes are UDP payload.
type Count struct {
	FramesIn        uint64 `json:"frames_in"`        // from the TAP device
	FramesOut       uint64 `json:"frames_out"`       // to the TAP device
	FramesForwarded uint64 `json:"frames_forwarded"` // from one neighbor to another
	DatagramsIn     uint64 `json:"datagrams_in"`
	DatagramsOut    uint64 `json:"datagrams_out"`
	BytesIn         uint64 `json:"bytes_in"`
	BytesOut        uint64 `json:"bytes_out"`
	// Dropped: datagrams that no relay sends, or that the neighbor did not seal; frames that fit no
	// datagram, have no key yet, or that the TAP device rejected; datagrams that could not be sent.
	Malformed uint64 `json:"dropped_malformed"`
	Forged    uint64 `json:"dropped_forged"`
	TooLarge  uint64 `json:"dropped_too_large"`
	NoKey     uint64 `json:"dropped_no_key"`
	TAP       uint64 `json:"dropped_tap"`
	Send      uint64 `json:"dropped_send"`
}

// Counters count while the relay runs.
type Counters struct {
	framesIn, framesOut, framesForwarded                atomic.Uint64
	datagramsIn, datagramsOut, bytesIn, bytesOut        atomic.Uint64
	malformed, forged, tooLarge, noKey, tapFailed, send atomic.Uint64
}

func (c *Counters) count() Count {
	return Count{
		FramesIn: c.framesIn.Load(), FramesOut: c.framesOut.Load(), FramesForwarded: c.framesForwarded.Load(),
		DatagramsIn: c.datagramsIn.Load(), DatagramsOut: c.datagramsOut.Load(), BytesIn: c.bytesIn.Load(), BytesOut: c.bytesOut.Load(),
		Malformed: c.malformed.Load(), Forged: c.forged.Load(), TooLarge: c.tooLarge.Load(),
		NoKey: c.noKey.Load(), TAP: c.tapFailed.Load(), Send: c.send.Load(),
	}
}
