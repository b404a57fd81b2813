package sock

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// StayOn keeps every thread of this process on the given CPUs; none leaves them
// where they are. The affinity of Linux belongs to threads: those that start
// later inherit it from the one that starts them, so this looks again until it
// sees no thread that it has not seen.
func StayOn(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	seen := map[int]bool{}
	for more := true; more; {
		more = false
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("engine: CPUs %v: %w", cpus, err)
		}
		for _, t := range tasks {
			tid, err := strconv.Atoi(t.Name())
			if err != nil || seen[tid] {
				continue
			}
			seen[tid], more = true, true
			// A thread that has ended in between needs no CPU.
			if err := unix.SchedSetaffinity(tid, &set); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("engine: CPUs %v: %w: this process may not use them, or they are not there", cpus, err)
			}
		}
	}
	return nil
}

// OwnCPUs lists the CPUs that this process may use.
func OwnCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("engine: the CPUs of this process: %w", err)
	}
	var cpus []int
	for cpu := 0; len(cpus) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}
