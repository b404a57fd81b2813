package cli

import (
	"context"
	"encoding/json"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/packettrace"
	"github.com/weir-bench/weir/internal/report"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
)

// traceFile holds the trace of a network, in the raw bytes of traceTrial.
const traceFile = "trace.json"

func traceTrial(network string) string { return "trace-" + network }

// traceAll traces every network of the run. One that cannot be traced costs its trace only.
func (r *runner) traceAll(ctx context.Context, d *store.Dir) error {
	prepared, err := r.prepared()
	if err != nil {
		return err
	}
	t := tracing{at: r.at, size: tracedSize, count: tracedCount}
	if err := t.choose(); err != nil {
		return r.stopped(err)
	}
	for _, u := range r.study.Networks {
		one, err := t.network(ctx, u.Name, prepared.Networks[u.Name])
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			note(lang.T("no trace of %s: %v", u.Name, err))
			continue
		}
		b, err := json.Marshal(one)
		if err == nil {
			err = d.Raw(traceTrial(u.Name), traceFile, b)
		}
		if err != nil {
			return r.stopped(err)
		}
	}
	return nil
}

// readTraces returns the traces of a run, in the order of its networks.
func readTraces(dir string, s study.Study, rep *report.Run) (all []packettrace.Trace) {
	raw := store.OpenRaw(dir)
	for _, u := range s.Networks {
		b, err := raw.Read(traceTrial(u.Name), traceFile)
		if err == nil && b != nil {
			var t packettrace.Trace
			if t, err = packettrace.Parse(b); err == nil {
				all = append(all, t)
			}
		}
		if err != nil {
			rep.Problems = append(rep.Problems, lang.T("trace of %s: %v", u.Name, err))
		}
	}
	if err := raw.Close(); err != nil {
		rep.Problems = append(rep.Problems, lang.Text(err.Error()))
	}
	return all
}
