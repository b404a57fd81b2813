package catalog

import (
	"time"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/study"
)

// What a trial and a network take beside what a study asks for, about, on two CPUs
// that have nothing else to do.
const (
	aroundTrial = 20 * time.Millisecond  // counters, conditions and what checks them
	aroundLoad  = 300 * time.Millisecond // the start of both its ends, and its own warm-up at least
	aroundTool  = 200 * time.Millisecond // its start and its server's
	mpiTrial    = 2 * time.Second        // it repeats messages and knows no time
	toBuild     = time.Second            // a network; those without daemons take less, guests longer
)

// Takes returns about how long s takes with the blocks that it has, unless networks
// or tools are missing; more with a precision.
func Takes(s study.Study) time.Duration {
	block := time.Duration(0)
	for _, c := range s.Cells(Applies) {
		block += trialTakes(s, c)
	}
	return time.Duration(len(s.Networks))*toBuild + time.Duration(s.Blocks)*block
}

func trialTakes(s study.Study, c study.Cell) time.Duration {
	t := aroundTrial + s.Warmup + s.Duration
	u, _ := s.Probe(c.Probe)
	if e, err := FindProbe(u.Kind); err == nil {
		switch p := e.New(); {
		case isMPI(p):
			t = mpiTrial
		case len(probe.Programs(p)) > 0: // most tools count in whole seconds
			t = aroundTrial + aroundTool + max(probe.HabitsOf(p).Lasts, (s.Warmup+s.Duration+time.Second-1).Truncate(time.Second))
		}
	}
	stress, load, err := condition.Beside(c.Levels)
	if err == nil && load.Probe != "" {
		t += aroundLoad + s.Warmup
	}
	if err == nil && stress.Share > 0 {
		t += aroundTool
	}
	return t
}

func isMPI(p probe.Probe) bool { _, ok := p.(*probe.MPI); return ok }
