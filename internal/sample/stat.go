package sample

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Stat reads /proc/stat: CPU time in seconds by mode, of the machine ("cpu.user")
// and of every CPU ("cpu0.user"), context switches and forks.
type Stat struct{}

// cpuModes are the columns of a cpu line (fs/proc/stat.c, show_stat; proc(5)).
// The kernel counts guest time in user as well, and guest_nice in nice.
var cpuModes = []string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"}

// userHZ is the unit of /proc/stat, 1/s: USER_HZ is 100 on amd64 and arm64
// (include/asm-generic/param.h).
const userHZ = 100

// Sample reads the cpu lines and what else only grows.
func (Stat) Sample(root fs.FS, c Counters) error {
	lines, err := readLines(root, "proc/stat")
	if err != nil {
		return err
	}
	for i, line := range lines {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case strings.HasPrefix(f[0], "cpu"):
			if len(f) < 5 {
				return fmt.Errorf("proc/stat:%d: %d columns, want at least 5", i+1, len(f))
			}
			for j, v := range f[1:min(len(f), len(cpuModes)+1)] {
				n, err := strconv.ParseUint(v, 10, 64)
				if err != nil {
					return fmt.Errorf("proc/stat:%d: %w", i+1, err)
				}
				c[f[0]+"."+cpuModes[j]] = float64(n) / userHZ
			}
		case len(f) == 2 && (f[0] == "ctxt" || f[0] == "processes"):
			n, err := strconv.ParseUint(f[1], 10, 64)
			if err != nil {
				return fmt.Errorf("proc/stat:%d: %w", i+1, err)
			}
			c[f[0]] = float64(n)
		}
	}
	if _, ok := c["cpu.idle"]; !ok {
		return fmt.Errorf("proc/stat: no line begins with \"cpu \"")
	}
	return nil
}

// readLines returns the lines of a file of /proc, which is never large.
func readLines(root fs.FS, name string) ([]string, error) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"), nil
}
