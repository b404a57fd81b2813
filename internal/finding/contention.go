package finding

import (
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
)

// waited is the least share of the window that a program waits for a CPU to count as contention.
const waited = 0.05

var contention = Rule{
	ID:    "contention",
	Title: "An end waits for a CPU",
	Doc: "The engine's threads at one end were runnable and waited for a CPU for more than 5 % of the window (run_delay in schedstat): another thread used it, of another program, of the network, or of more streams than there are CPUs. On a quiet machine they wait less than 1 %. " +
		"A program that does not run cannot empty its socket, open its window or acknowledge in time, so this outranks full socket buffers, closed windows and spurious retransmissions." + majority,
	Check: measured(func(t *analysis.Table, r *analysis.Row) []Finding {
		for _, end := range []struct {
			name string
			of   func(*evidence.Trial) evidence.End
		}{{"sender", func(t *evidence.Trial) evidence.End { return t.Sender }}, {"receiver", func(t *evidence.Trial) evidence.End { return t.Receiver }}} {
			node := ""
			share, ok := analysis.ShareExceeds(r.Evidence(), waited, func(o analysis.Observed) (wait, window float64) {
				e := end.of(o.Evidence)
				node = e.Node
				return e.Wait, o.Evidence.Window * threads(o)
			})
			if !ok {
				continue
			}
			f := Finding{Severity: Warning, Place: node, Number: &Number{"time that the " + end.name + " waited for a CPU", "1", share},
				Text:   fmt.Sprintf("the %s in %s waited %s of the time for a CPU that other threads used", end.name, node, percent(share)),
				Remedy: "stop other programs on the machine, or give the ends CPUs of their own"}
			if level := t.Config["stress"]; level != "" && level != "0" && level != "0%" {
				f.Text += fmt.Sprintf(": the study's stress of %s", level)
				f.Remedy = ""
				if strings.HasSuffix(t.Unit, "/s") {
					f.Test = &Test{Text: "Refuted if the throughput without it is less than 5 % higher", Levels: map[string]string{"stress": "0"}, Metric: t.Metric, Factor: 1.05}
				}
			}
			return []Finding{f}
		}
		return nil
	}),
}
