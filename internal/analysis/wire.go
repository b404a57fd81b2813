package analysis

import "github.com/weir-bench/weir/record"

// Wire holds what trials observed of their packets; 0 means unknown.
type Wire struct {
	Link     float64 // bit/s of each host's link
	Ceiling  float64 // payload rate that the headers allow, in the table's unit; 0 without a link rate
	Datagram float64 // bytes of UDP payload
	Segment  float64 // bytes of payload of a TCP segment
}

func wire(o record.Observed) Wire {
	return Wire{record.Link.Of(o), record.Ceiling.Of(o), float64(record.Datagram.Of(o)), float64(record.MSS.Of(o))}
}
