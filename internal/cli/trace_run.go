package cli

import (
	"context"
	"encoding/json"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/store"
)

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
			err = d.Raw(account.TraceTrial(u.Name), account.TraceFile, b)
		}
		if err != nil {
			return r.stopped(err)
		}
	}
	return nil
}
