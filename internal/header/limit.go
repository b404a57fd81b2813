// Package header computes the payload that packet headers leave of a link, and compares numbers
// with that ceiling. It must not measure, read a file or look at a clock.
package header

const (
	// limitedShare: a full link still loses a little to retransmissions, partial segments and the
	// edges of the window. Two percent is also the default precision of a study, so nothing closer
	// can be distinguished from the ceiling.
	limitedShare = 0.02
	// impossibleShare: bytes buffered before the window opened arrive in it. 6 MiB, the default
	// maximum of tcp_rmem, is 0.5 % of one second at 10 Gbit/s or of ten at 1 Gbit/s.
	impossibleShare = 0.005
)

// LinkLimited reports whether measured is within 2 % of the ceiling or above it: the link was the
// limit, and the network's cost shows only in CPU time. Both use one unit; a ceiling of 0 limits
// nothing.
func LinkLimited(measured, ceiling float64) bool {
	return ceiling > 0 && measured >= ceiling*(1-limitedShare)
}

// Impossible reports whether measured is more than 0.5 % above the ceiling: the number, or the
// assumed link, is wrong. Both use one unit; a ceiling of 0 allows everything. In a window shorter
// than a second, buffers can hold more than that: judge the sum of the windows.
func Impossible(measured, ceiling float64) bool {
	return ceiling > 0 && measured > ceiling*(1+impossibleShare)
}
