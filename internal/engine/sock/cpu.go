package sock

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/wire"
)

// Settle keeps this thread on one of the CPUs that it may use, the server's on
// the first and the client's on the last, so that two ends with the same choice
// spin apart. restore undoes it.
func Settle(last bool) (p wire.Place, restore func(), err error) {
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return p, nil, fmt.Errorf("spin: the CPUs of this thread: %w", err)
	}
	for cpu, left := 0, all.Count(); left > 0; cpu++ {
		if !all.IsSet(cpu) {
			continue
		}
		left--
		p.CPU = cpu
		if !last {
			break
		}
	}
	one.Set(p.CPU)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return p, nil, fmt.Errorf("spin: stay on CPU %d: %w", p.CPU, err)
	}
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it the machines count as two
	p.Boot = strings.TrimSpace(string(b))
	return p, func() { _ = unix.SchedSetaffinity(0, &all) }, nil
}

// Apart returns an error when two ends that spin share a CPU: each would wait
// for the other's time slice to end.
func Apart(client, server wire.Place) error {
	if client.Boot == server.Boot && client.Boot != "" && client.CPU == server.CPU {
		return fmt.Errorf("spin: client and server may both use CPU %d alone: spinning takes one for each", client.CPU)
	}
	return nil
}
