package sample

import (
	"errors"
	"fmt"
	"strings"
)

// softirqNames holds the rows to keep (softirq_to_name, kernel/softirq.c).
var softirqNames = map[string]string{"NET_RX:": "net_rx", "NET_TX:": "net_tx"}

// parseSoftirqs reads how often network softirqs ran from /proc/softirqs: softirq.net_rx and
// softirq.net_tx on all CPUs, and softirq.cpu0.net_rx … on each. parseStat has their CPU time. The 32-bit
// counters per CPU wrap (kstat_softirqs_cpu, include/linux/kernel_stat.h). The table has a row of CPU
// names, then a row per softirq (show_softirqs, fs/proc/softirqs.c).
func parseSoftirqs(b []byte) (Counters, error) {
	ls := lines(b)
	cpus := strings.Fields(ls[0])
	if len(cpus) == 0 {
		return nil, errors.New("line 1: no CPU in the header")
	}
	c := Counters{}
	for i, line := range ls[1:] {
		f := strings.Fields(line)
		if len(f) == 0 || softirqNames[f[0]] == "" {
			continue
		}
		if len(f)-1 != len(cpus) {
			return nil, fmt.Errorf("line %d: %s has %d columns for %d CPUs", i+2, f[0], len(f)-1, len(cpus))
		}
		total := 0.0
		for j, s := range f[1:] {
			n, err := counter(s)
			if err != nil {
				return nil, fmt.Errorf("line %d: %s %s: %w", i+2, f[0], cpus[j], err)
			}
			c["softirq."+strings.ToLower(cpus[j])+"."+softirqNames[f[0]]] = n
			total += n
		}
		c["softirq."+softirqNames[f[0]]] = total
	}
	for row, name := range softirqNames {
		if _, ok := c["softirq."+name]; !ok {
			return nil, fmt.Errorf("no line %q", row)
		}
	}
	return c, nil
}
