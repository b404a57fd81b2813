// Package diagnose turns results into findings.
//
// It must not measure and must not read files: what it says follows from its arguments.
package diagnose

import "github.com/weir-bench/weir/internal/plan"

// Headers is what surrounds the payload on its way over the underlay.
type Headers struct {
	Path     plan.Path
	Protocol string // "tcp", with timestamps; "udp"
	Datagram int    // udp: payload bytes per datagram
	IPv6     bool   // the packets that the ends exchange are IPv6
}

// Ceiling returns the payload rate in bit/s that the headers leave of a link of
// rate bit/s on the wire. It is 0, no ceiling, when rate is 0 or the path never
// leaves the host.
func Ceiling(rate float64, h Headers) (float64, error) { return 0, nil }

// PacketCeiling is Ceiling in datagrams or segments per second.
func PacketCeiling(rate float64, h Headers) (float64, error) { return 0, nil }

// LinkLimited reports whether measured is on the ceiling.
func LinkLimited(measured, ceiling float64) bool { return false }

// Impossible reports whether measured is above what the ceiling allows.
func Impossible(measured, ceiling float64) bool { return false }

// A Finding is a conclusion with its evidence.
type Finding struct {
	Text     string
	Evidence []string
}
