package sample

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// softnetWidths holds the known layouts of softnet_seq_show (net/core/net-procfs.c, and
// net/core/dev.c before 3.10): 9 columns in Linux 2.6.23, 10 with received_rps in 2.6.39, 11 with
// flow_limit_count in 4.18, 13 with the length of the backlog and the CPU in 5.14, 15 with both
// parts of that length in 6.18. All share the first three columns; an unknown layout could have
// moved them.
var softnetWidths = []int{9, 10, 11, 13, 15}

// Columns of softnet_stat beyond the first three.
const (
	softnetRPS = 9
	softnetCPU = 12
)

// parseSoftnet reads the receive path's counters, summed over all CPUs, from
// /proc/net/softnet_stat: softnet.processed (packets), softnet.dropped (packets; the backlog queue
// was full: net.core.netdev_max_backlog), softnet.squeezed (softirqs that ran out of budget or
// time with work left) and softnet.rps (wake-ups of a CPU that another gave packets to, since Linux
// 2.6.39); and softnet.cpu0.processed … per CPU since Linux 5.14, which numbers them. The file is the
// same in every network namespace. It has a line of hexadecimal 32-bit numbers, which wrap, per
// online CPU.
func parseSoftnet(b []byte) (Counters, error) {
	c := Counters{}
	for i, line := range lines(b) {
		f := strings.Fields(line)
		if !slices.Contains(softnetWidths, len(f)) {
			return nil, fmt.Errorf("line %d: %d columns: want one of %v", i+1, len(f), softnetWidths)
		}
		var n [softnetCPU + 1]float64
		for j := range min(len(f), len(n)) {
			v, err := strconv.ParseUint(f[j], 16, 32)
			if err != nil {
				return nil, fmt.Errorf("line %d, column %d: invalid number %.40q: want 32 bits in hexadecimal", i+1, j+1, f[j])
			}
			n[j] = float64(v)
		}
		c["softnet.processed"] += n[0]
		c["softnet.dropped"] += n[1]
		c["softnet.squeezed"] += n[2]
		if len(f) > softnetRPS {
			c["softnet.rps"] += n[softnetRPS]
		}
		if len(f) > softnetCPU {
			cpu := fmt.Sprintf("softnet.cpu%.0f.", n[softnetCPU])
			c[cpu+"processed"], c[cpu+"dropped"], c[cpu+"squeezed"], c[cpu+"rps"] = n[0], n[1], n[2], n[softnetRPS]
		}
	}
	return c, nil
}
