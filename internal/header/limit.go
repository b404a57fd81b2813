// Package header is the arithmetic of headers: what they leave of a link for the
// payload, and whether a number is at that ceiling or above it.
//
// It must not measure, read a file or look at a clock: its answers follow from its
// arguments.
package header

const (
	// limitedShare: a full link still loses a little to retransmissions, to
	// segments that are not full and to the edges of the window. Two percent is
	// also the precision that a study asks for by default, so nothing closer can be
	// distinguished from the ceiling.
	limitedShare = 0.02
	// impossibleShare: bytes that were buffered before the window opened arrive in it. 6 MiB, Linux's default limit of a TCP receive buffer (tcp_rmem), is
	// 0.5 % of one second at 10 Gbit/s or of ten at 1 Gbit/s.
	impossibleShare = 0.005
)

// LinkLimited reports whether measured is within 2 % of the ceiling or above
// it: the link was the limit, and the cost of the network shows in CPU time
// only. Both are in the same unit. A ceiling of 0 limits nothing.
func LinkLimited(measured, ceiling float64) bool {
	return ceiling > 0 && measured >= ceiling*(1-limitedShare)
}

// Impossible reports whether measured is more than 0.5 % above the ceiling: the
// number, or the assumed link, is wrong. Both are in the same unit.
// A ceiling of 0 allows everything. In a window shorter than a second, buffers
// can hold more than that; judge the sum of the windows.
func Impossible(measured, ceiling float64) bool {
	return ceiling > 0 && measured > ceiling*(1+impossibleShare)
}
