package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/record"
)

// limited is the least share of TCP's busy time that a window limits it.
const limited = 0.3

// limitedBy returns the share of the sender's busy time that a limit took.
func limitedBy(r *analysis.Row, limit func(*evidence.TCP) float64) (Number, bool) {
	share, ok := analysis.ShareExceeds(r.Evidence(), limited, func(o analysis.Observed) (part, busy float64) {
		if t := o.Evidence.Sender.TCP; t != nil {
			return limit(t), t.Busy
		}
		return 0, 0
	})
	return Number{lang.T("share of TCP's busy time"), "1", share}, ok && clearly(share, limited)
}

// buffers adds the run that raises TCP's buffers of a node: a buffer of the engine's own by its option, because the
// kernel's setting does not concern that socket (SO_RCVBUF, tcp(7)); otherwise by the setting, because an option
// would end the adaptation to the path.
func (f *Finding) buffers(t *analysis.Table, r *analysis.Row, own bool, option, node, key string) {
	if t.Metric != record.Throughput {
		return
	}
	f.Test = &Test{Text: lang.T("Refuted if larger buffers add less than 2 % throughput"), Metric: t.Metric, Factor: 1.02, Whole: true}
	if own && record.Tool.Of(r.Observed) == record.Engine {
		f.Test.Options = map[string]string{option: "4194304"}
		return
	}
	f.Test.Fix = []plan.Step{{In: node, Sysctl: &plan.Sysctl{Key: key, Value: "4096 131072 33554432"}}}
}
