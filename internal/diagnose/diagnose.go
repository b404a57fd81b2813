// Package diagnose turns results into findings: what the headers alone cost, and
// whether a number is on the ceiling or above it.
//
// It must not measure, read a file or look at a clock: what it says follows
// from its arguments.
package diagnose

// A Finding is a conclusion with its evidence.
type Finding struct {
	Text     string
	Evidence []string
}

const (
	// limitedShare: a full link still loses a little to retransmissions, to
	// segments that are not full and to the edges of the window. Two percent is
	// also the precision that a study asks for by default, so anything nearer
	// could not be told from the ceiling.
	limitedShare = 0.02
	// impossibleShare: what was buffered before the window opened is delivered
	// in it. 6 MiB, Linux's default limit of a TCP receive buffer (tcp_rmem), is
	// 0.5 % of one second at 10 Gbit/s or of ten at 1 Gbit/s.
	impossibleShare = 0.005
)

// LinkLimited reports whether measured is within 2 % of the ceiling or above
// it: the link was the limit, and what the network costs shows in CPU time
// only. Both are in the same unit. A ceiling of 0 limits nothing.
func LinkLimited(measured, ceiling float64) bool {
	return ceiling > 0 && measured >= ceiling*(1-limitedShare)
}

// Impossible reports whether measured is more than 0.5 % above the ceiling: the
// number, or what is believed of the link, is wrong. Both are in the same unit.
// A ceiling of 0 allows everything. In a window shorter than a second, buffers
// may hold more than that; judge the sum of the windows.
func Impossible(measured, ceiling float64) bool {
	return ceiling > 0 && measured > ceiling*(1+impossibleShare)
}
