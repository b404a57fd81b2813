package doc

import "slices"

// Color returns the color of a network, the same in all charts; 0 for the baseline.
func Color(networks []string, baseline, network string) int {
	if network == baseline {
		return 0
	}
	i := slices.Index(networks, network)
	if slices.Contains(networks, baseline) {
		return i // the baseline is the first
	}
	return i + 1
}
