package sample

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// NetDev reads /proc/net/dev: what every device of the node received and sent
// ("dev.eth0.rx_bytes"). A packet is what the device was handed: one that was
// segmented further down counts once.
type NetDev struct{}

// devColumns are the columns behind the device's name (net/core/net-procfs.c,
// dev_seq_printf_stats).
var devColumns = []string{
	"rx_bytes", "rx_packets", "rx_errors", "rx_dropped", "rx_fifo", "rx_frame", "rx_compressed", "rx_multicast",
	"tx_bytes", "tx_packets", "tx_errors", "tx_dropped", "tx_fifo", "tx_collisions", "tx_carrier", "tx_compressed",
}

// Sample reads one line per device.
func (NetDev) Sample(root fs.FS, c Counters) error {
	lines, err := readLines(root, "proc/net/dev")
	if err != nil {
		return err
	}
	for i, line := range lines {
		if i < 2 { // headings
			continue
		}
		colon := strings.LastIndexByte(line, ':') // an alias has a colon in its name
		if colon < 0 {
			return fmt.Errorf("proc/net/dev:%d: no device name", i+1)
		}
		f := strings.Fields(line[colon+1:])
		if len(f) != len(devColumns) {
			return fmt.Errorf("proc/net/dev:%d: %d columns, want %d", i+1, len(f), len(devColumns))
		}
		dev := "dev." + strings.TrimSpace(line[:colon]) + "."
		for j, v := range f {
			n, err := strconv.ParseUint(v, 10, 64)
			if err != nil {
				return fmt.Errorf("proc/net/dev:%d: %w", i+1, err)
			}
			c[dev+devColumns[j]] = float64(n)
		}
	}
	return nil
}
