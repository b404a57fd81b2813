package sample

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Softnet reads /proc/net/softnet_stat, a line per CPU: packets processed,
// packets dropped because the backlog was full, and times that the budget of a
// softirq ran out. The counters are 32 bits wide and hexadecimal
// (net/core/net-procfs.c, softnet_seq_show).
type Softnet struct{}

// Sample sums the CPUs.
func (Softnet) Sample(root fs.FS, c Counters) error {
	lines, err := readLines(root, "proc/net/softnet_stat")
	if err != nil {
		return err
	}
	columns := []string{"softnet.processed", "softnet.dropped", "softnet.squeezed"}
	for i, line := range lines {
		f := strings.Fields(line)
		if len(f) < len(columns) {
			return fmt.Errorf("proc/net/softnet_stat:%d: %d columns, want at least %d", i+1, len(f), len(columns))
		}
		for j, name := range columns {
			n, err := strconv.ParseUint(f[j], 16, 32)
			if err != nil {
				return fmt.Errorf("proc/net/softnet_stat:%d: %w", i+1, err)
			}
			c[name] += float64(n)
		}
	}
	return nil
}
