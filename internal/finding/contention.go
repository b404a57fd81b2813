package finding

import (
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/record"
)

const (
	// waited is the least share of the window for which a program must wait for a CPU to count as contention. A
	// program that sleeps also waits while an idle CPU wakes up: a TCP receiver for up to 17 % of the time on a
	// quiet virtual machine, where with a program that wants the same CPU both ends wait for 30 to 50 %.
	waited = 0.2
	// leastOthers is the least use of CPUs besides the engine's threads, cores. On a quiet machine this use
	// is at most 0.3, with the kernel's own work.
	leastOthers = 0.4
)

var contention = Rule{
	ID:    "contention",
	Title: "An end waits for a CPU",
	Doc: "The engine's threads at one end were runnable and waited for a CPU for more than 20 % of the window (run_delay in schedstat), and 0.4 cores or more went to other threads: of another program, of the network, or of more streams than there are CPUs. Below that, waits are the time in which an idle CPU wakes up. " +
		"A program that does not run cannot empty its socket, open its window or acknowledge in time, so this outranks full socket buffers, closed windows and spurious retransmissions." + majority + certainly,
	Check: measured(func(t *analysis.Table, r *analysis.Row) []Finding {
		if used, known := others(r); known && used < leastOthers {
			return nil
		}
		for _, end := range []struct {
			name lang.Text
			of   func(*evidence.Trial) evidence.End
		}{{lang.T("sender"), func(t *evidence.Trial) evidence.End { return t.Sender }}, {lang.T("receiver"), func(t *evidence.Trial) evidence.End { return t.Receiver }}} {
			node := ""
			of := func(o analysis.Observed) (wait, window float64) {
				e := end.of(o.Evidence)
				node = e.Node
				return e.Wait, o.Evidence.Window * threads(o)
			}
			base, _ := analysis.ShareExceeds(r.BaseEvidence(), 0, of) // which can be just below the threshold
			share, ok := analysis.ShareExceeds(r.Evidence(), waited, of)
			if !ok || !clearly(share, waited) {
				continue
			}
			f := Finding{Severity: Warning, Place: node, Subject: end.name, Shared: base.N > 0 && !more(share, base), Number: &Number{lang.T("time that the %s waited for a CPU", end.name), "1", share},
				Text:   lang.T("the %s in %s waited %s of the time for a CPU that other threads used", end.name, node, prose.PercentWithin(share)),
				Remedy: lang.T("stop other programs on the machine, or give the ends CPUs of their own")}
			if level := t.Config["stress"]; level != "" && level != "0" && level != "0%" {
				f.Text += lang.T(": the study's stress of %s", level)
				f.Remedy = ""
				if strings.HasSuffix(t.Unit, "/s") {
					f.Test = &Test{Text: lang.T("Refuted if the throughput without it is less than 5 % higher"), Levels: map[string]string{"stress": "0"}, Metric: t.Metric, Factor: 1.05}
				}
			}
			return []Finding{f}
		}
		return nil
	}),
}

// others returns the mean use of CPUs besides the engine's threads, cores; false if no trial knows it.
func others(r *analysis.Row) (cores float64, known bool) {
	n := 0.0
	for _, o := range r.Evidence() {
		used, ok := o.Get(record.CPUUsed)
		own, engine := o.Get(record.CPUOwn)
		if ok && engine {
			n++
			cores += (used.Value - own.Value - cores) / n
		}
	}
	return cores, n > 0
}
