package sample

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Softirqs reads /proc/softirqs: how often the network's softirqs ran, on the
// machine ("softirq.net_rx") and on every CPU ("softirq.net_rx.0"). The kernel's
// counters are 32 bits wide (include/linux/kernel_stat.h, kernel_stat).
type Softirqs struct{}

// Sample reads the rows NET_RX and NET_TX.
func (Softirqs) Sample(root fs.FS, c Counters) error {
	lines, err := readLines(root, "proc/softirqs")
	if err != nil {
		return err
	}
	found := 0
	for i, line := range lines {
		kind, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || kind != "NET_RX" && kind != "NET_TX" {
			continue
		}
		found++
		name, sum := "softirq."+strings.ToLower(kind), 0.0
		for cpu, v := range strings.Fields(rest) {
			n, err := strconv.ParseUint(v, 10, 64)
			if err != nil {
				return fmt.Errorf("proc/softirqs:%d: %w", i+1, err)
			}
			c[fmt.Sprintf("%s.%d", name, cpu)] = float64(n)
			sum += float64(n)
		}
		c[name] = sum
	}
	if found != 2 {
		return fmt.Errorf("proc/softirqs: %d of the rows NET_RX and NET_TX", found)
	}
	return nil
}
