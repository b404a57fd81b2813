package sample

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// softnetWidths holds the layouts of softnet_seq_show (net/core/net-procfs.c, and
// net/core/dev.c before 3.10): 9 columns in Linux 2.6.23, 10 with received_rps in
// 2.6.39, 11 with flow_limit_count in 4.18, 13 with the length of the backlog and
// the CPU in 5.14, 15 with both parts of that length in 6.18. The first three
// columns are the same in all of them; an unknown layout could have moved them.
var softnetWidths = []int{9, 10, 11, 13, 15}

// parseSoftnet reads counters of the receive path, summed over all CPUs, from
// /proc/net/softnet_stat: softnet.processed packets, softnet.dropped packets (the backlog
// queue was full: net.core.netdev_max_backlog) and softnet.squeezed (how often a softirq
// stopped with work left, its budget or time used up). The file is the same in every
// network namespace. It has a line per online CPU, of hexadecimal numbers of 32 bits that
// wrap.
func parseSoftnet(b []byte) (Counters, error) {
	var sums [3]float64
	for i, line := range lines(b) {
		f := strings.Fields(line)
		if !slices.Contains(softnetWidths, len(f)) {
			return nil, fmt.Errorf("line %d: %d columns: want one of %v", i+1, len(f), softnetWidths)
		}
		for j := range sums {
			n, err := strconv.ParseUint(f[j], 16, 32)
			if err != nil {
				return nil, fmt.Errorf("line %d, column %d: invalid number %.40q: want 32 bits in hexadecimal", i+1, j+1, f[j])
			}
			sums[j] += float64(n)
		}
	}
	return Counters{"softnet.processed": sums[0], "softnet.dropped": sums[1], "softnet.squeezed": sums[2]}, nil
}
