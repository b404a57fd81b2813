package sample

import (
	"fmt"
	"io/fs"
	"strings"
)

// frequency reads the current mean clock frequency of all CPUs in Hz as "frequency", from cpufreq's
// scaling_cur_freq (Documentation/admin-guide/pm/cpufreq.rst). It is a level, so the caller does
// not subtract it. Most virtual machines do not report it.
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
