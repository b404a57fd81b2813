package local

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/sample"
)

const (
	coreTrips    = 64 // round trips of a round
	coreRounds   = 16
	corePatience = 20 * time.Millisecond // the runtime can take 10 ms to start the second thread (sysmon)
)

// cores measures sample.OfCores. A machine with one CPU has no counters.
func cores() (sample.Counters, error) {
	cpus := CPUs()
	if len(cpus) < 2 {
		return nil, nil
	}
	took, err := coreToCore(cpus[0], cpus[len(cpus)/2])
	if err != nil {
		return nil, err
	}
	return sample.Counters{sample.CoreToCore: took.Seconds()}, nil
}

// coreToCore returns how long a cache line takes from CPU a to CPU b and back, both CPUs of this process, in the
// fastest of some rounds: an interrupt, or a program that takes one of the CPUs, slows only some of them. It takes
// 0.1 to 0.5 ms, and fails if the CPUs have no time for it within 20 ms.
//
// On a virtual machine it can change by a factor of four from one second to the next (ADR 60).
func coreToCore(a, b int) (time.Duration, error) {
	if runtime.GOMAXPROCS(0) < 2 {
		return 0, fmt.Errorf("core-to-core latency: this process runs on one CPU at a time (GOMAXPROCS)")
	}
	var line struct {
		_    [128]byte
		ball atomic.Int64 // odd: b's turn
		_    [120]byte
		over atomic.Bool
		_    [127]byte
	}
	defer line.over.Store(true)
	answering := onCPU(b, func() error {
		for turn := int64(1); !line.over.Load(); {
			if line.ball.Load() == turn {
				line.ball.Store(turn + 1)
				turn += 2
			}
		}
		return nil
	})
	best := time.Duration(0)
	asking := onCPU(a, func() error {
		deadline := time.Now().Add(corePatience)
		turn := int64(1)
		round := func(trips int) error {
			for range trips {
				line.ball.Store(turn)
				for looks := 1; line.ball.Load() == turn; looks++ {
					if looks%4096 == 0 && time.Now().After(deadline) {
						return fmt.Errorf("core-to-core latency: CPU %d did not answer CPU %d within %v: other programs used them", b, a, corePatience)
					}
				}
				turn += 2
			}
			return nil
		}
		if err := round(1); err != nil { // b is ready
			return err
		}
		for range coreRounds {
			begin := time.Now()
			if err := round(coreTrips); err != nil {
				if best > 0 {
					return nil
				}
				return err
			}
			if took := time.Since(begin) / coreTrips; best == 0 || took < best {
				best = took
			}
		}
		return nil
	})
	select {
	case err := <-asking:
		return best, err
	case err := <-answering: // it could not begin
		line.over.Store(true)
		<-asking
		return 0, err
	}
}

// onCPU runs f on a CPU, on a thread of its own, which ends with f.
func onCPU(cpu int, f func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: nothing else runs on a thread with this affinity
		done <- caught.Error(func() error {
			if err := Pin([]int{cpu}); err != nil {
				return fmt.Errorf("core-to-core latency: %w", err)
			}
			return f()
		})
	}()
	return done
}
