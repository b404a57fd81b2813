package analysis

import (
	"math"
	"strconv"
)

// Wire holds what trials observed of their packets; 0 means unknown.
type Wire struct {
	Link     float64 // bit/s of each host's link
	Ceiling  float64 // payload rate that the headers allow, in the table's unit; 0 without a link rate
	Datagram float64 // bytes of UDP payload
	Segment  float64 // bytes of payload of a TCP segment
}

func wire(observed map[string]string) Wire {
	return Wire{Number(observed["link"]), Number(observed["ceiling"]), Number(observed["datagram"]), Number(observed["mss"])}
}

// Number reads an observation; 0 if it is not a number.
func Number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
