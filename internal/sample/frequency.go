package sample

import (
	"fmt"
	"io/fs"
	"strings"
)

// Frequency reads the mean clock frequency of all CPUs now, in Hz, as
// "frequency": what cpufreq's scaling_cur_freq says
// (Documentation/admin-guide/pm/cpufreq.rst). It is a level and no counter, so the
// caller does not subtract it. Most virtual machines do not report it; there it
// adds nothing.
type Frequency struct{}

// Sample implements Sampler.
func (Frequency) Sample(root fs.FS, c Counters) error {
	files, err := fs.Glob(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq")
	if err != nil || len(files) == 0 {
		return err
	}
	sum := 0.0
	for _, name := range files {
		b, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		khz, err := counter(strings.TrimSpace(string(b)))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		sum += khz * 1e3
	}
	c["frequency"] = sum / float64(len(files))
	return nil
}
