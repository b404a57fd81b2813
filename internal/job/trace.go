package job

import (
	"context"
	"encoding/json"
	"io"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/packettrace"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/local"
)

// TraceOptions say what to trace, and how.
type TraceOptions struct {
	At        place.Place // entered
	Study     study.Study // whose networks are traced
	ByDefault bool        // the user chose no networks
	Size      int         // bytes of a request and of its reply
	Count     int         // requests, 1 to MaxTraced
	Mode      string      // one of packettrace.Modes; "": the best that is possible
}

// Trace traces the networks of a study, one after another. Each trace goes to show when it is complete.
func Trace(ctx context.Context, o TraceOptions, show func(packettrace.Trace) error) (all []packettrace.Trace, err error) {
	s, err := o.At.Settle(o.Study, o.ByDefault)
	if err != nil {
		return nil, err
	}
	prepared, err := o.At.Prepare(s)
	if err != nil {
		return nil, err
	}
	t := tracing{at: o.At, size: o.Size, count: o.Count, mode: o.Mode}
	if err := t.choose(); err != nil {
		return nil, failure.Environment.Of(err)
	}
	for _, u := range s.Networks {
		one, err := t.network(ctx, u.Name, prepared.Networks[u.Name])
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, failure.Environment.Errorf("%s: %w", u.Name, err)
		}
		if err := show(one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// traceAll traces every network of the run. If one cannot be traced, only its trace is missing.
func (r *runner) traceAll(ctx context.Context, d *store.Dir) error {
	prepared, err := r.At.Prepare(r.Study)
	if err != nil {
		return err
	}
	t := tracing{at: r.At, size: TracedSize, count: TracedCount}
	if err := t.choose(); err != nil {
		return r.stopped(err)
	}
	for _, u := range r.Study.Networks {
		one, err := t.network(ctx, u.Name, prepared.Networks[u.Name])
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			r.Tell.Note(lang.T("no trace of %s: %v", u.Name, err))
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

// sharedTap is the command that Tap carries out on a machine that others use.
var sharedTap = []string{"tap", "--shared"}

// Tap records packets of its node until in ends, and writes them to out. On a shared node it does not keep the packets
// of others.
func Tap(in io.Reader, out io.Writer, shared bool) error {
	err := packettrace.Tap(in, out, shared)
	if err != nil && shared {
		err = local.AsRoot(err, sharedTap...)
	}
	return failure.Environment.Of(err)
}
