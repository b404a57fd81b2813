package finding

import (
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

// uses adds the CPU time of a daemon at all places, cores, and thread that of a thread.
func (o observed) uses(program string, v float64) {
	o.Values = append(o.Values, record.CPUProgram.Thread("", program, "").Value("core", v))
}

func (o observed) thread(place, program, thread string, v float64) {
	used(o.Result, record.CPUThread.Thread(place, program, thread), v)
}

// A client below a whole CPU is the limit if it waited for a CPU the rest of the time, and the sentence says so.
func TestClientNeverIdle(t *testing.T) {
	of := func(wait float64) []Finding {
		all := Check(analysis.New(watched("udp", func(o observed) {
			o.Sender.CPU, o.Sender.Wait = 0.93*o.Window, wait*o.Window
			o.thread("h1p1", sample.EngineClient, "", 0.93)
		})))
		return slices.DeleteFunc(all, func(f Finding) bool { return f.Rule != "full-thread" })
	}
	const want = "engine client in h1p1 at 93 % of a CPU [93, 93] and never idle: that thread is the limit"
	if fs := of(0.05); len(fs) != 1 || fs[0].Text.String() != want {
		t.Errorf("%v, want %q", fs, want)
	} else if got := fs[0].Evidence[0].String(); !strings.HasPrefix(got, sample.EngineClient+" in h1p1: median of ") {
		t.Errorf("its evidence is %q", got)
	}
	if fs := of(0.01); fs != nil {
		t.Errorf("a client that sleeps: %v", fs)
	}
}

// The same program at its limit in both networks explains no difference, wherever it runs; another one does.
func TestSharedThread(t *testing.T) {
	for _, c := range []struct {
		there  string
		shared bool
	}{{sample.EngineClient, true}, {"weir-relay", false}} {
		rs, o := watched("udp", func(o observed) { o.thread("h1p1", sample.EngineClient, "", 0.97) })
		for i := range rs {
			if rs[i].Config["network"] == "host" {
				used(&rs[i], record.CPUThread.Thread("h1", c.there, ""), 0.96)
			}
		}
		here := slices.DeleteFunc(Check(analysis.New(rs, o)), func(f Finding) bool { return f.Rule != "full-thread" || f.Cells[0].Network != "vx" })
		if len(here) != 1 || here[0].Shared != c.shared {
			t.Errorf("beside %s: %+v", c.there, here)
		}
	}
}
