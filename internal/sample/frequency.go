package sample

import (
	"fmt"
	"io/fs"
	"strings"
)

// frequency reads the mean clock frequency of all CPUs now, in Hz, as "frequency": what
// cpufreq's scaling_cur_freq says (Documentation/admin-guide/pm/cpufreq.rst). It is a
// level and no counter, so the caller does not subtract it. Most virtual machines do not
// report it, and have none.
func frequency(root fs.FS) (Counters, error) {
	files, err := fs.Glob(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq")
	if err != nil || len(files) == 0 {
		return nil, err
	}
	sum := 0.0
	for _, name := range files {
		b, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		khz, err := counter(strings.TrimSpace(string(b)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		sum += khz * 1e3
	}
	return Counters{"frequency": sum / float64(len(files))}, nil
}
