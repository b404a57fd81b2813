package sample

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// ErrNoFrequency says that the machine does not tell how fast its CPUs run, as
// most virtual machines do not.
var ErrNoFrequency = errors.New("no cpufreq")

// Frequency returns the mean clock frequency of all CPUs now, in Hz: what
// cpufreq's scaling_cur_freq says (Documentation/admin-guide/pm/cpufreq.rst).
func Frequency(root fs.FS) (float64, error) {
	files, err := fs.Glob(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq")
	if err != nil {
		return 0, err
	}
	if len(files) == 0 {
		return 0, ErrNoFrequency
	}
	sum := 0.0
	for _, name := range files {
		b, err := fs.ReadFile(root, name)
		if err != nil {
			return 0, err
		}
		khz, err := counter(strings.TrimSpace(string(b)))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		sum += khz * 1e3
	}
	return sum / float64(len(files)), nil
}
