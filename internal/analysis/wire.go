package analysis

import (
	"math"
	"strconv"
)

// Wire is what trials observed of their packets, in numbers; 0 is not known. Results
// hold it as text, which is read here and nowhere else.
type Wire struct {
	Link     float64 // bit/s of each host's link
	Ceiling  float64 // rate that the headers leave of the link, in the table's unit; 0 when no link rate was set
	Datagram float64 // bytes of payload of UDP
	Segment  float64 // bytes of payload of a segment of TCP
}

func wire(observed map[string]string) Wire {
	number := func(key string) float64 {
		v, err := strconv.ParseFloat(observed[key], 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return 0
		}
		return v
	}
	return Wire{number("link"), number("ceiling"), number("datagram"), number("mss")}
}
