package job

import (
	"context"
	"strings"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/store"
)

// Begin completes the study with what is there, and opens a network to fail before anything is stored. The
// directory of a run to resume is first.
func (o *RunOptions) Begin(ctx context.Context, first string) error {
	return o.as(func(r *runner) error { return r.begin(ctx, first) })
}

// Settle completes the study with the machines that connecting has found.
func (o *RunOptions) Settle() error { return o.as((*runner).settle) }

// Measure runs the trials that lack a result. The caller closes the directory.
func (o *RunOptions) Measure(ctx context.Context) (d *store.Dir, _ error) {
	return d, o.as(func(r *runner) (err error) { d, err = r.measure(ctx); return err })
}

// InCluster runs the study by a coordinator in the cluster.
func (o *RunOptions) InCluster(ctx context.Context) (d *store.Dir, _ error) {
	return d, o.as(func(r *runner) (err error) { d, err = r.inCluster(ctx); return err })
}

// TraceAll traces every network of the run.
func (o *RunOptions) TraceAll(ctx context.Context, d *store.Dir) error {
	return o.as(func(r *runner) error { return r.traceAll(ctx, d) })
}

// Stopped adds the resume hint to the error that ended a run.
func (o *RunOptions) Stopped(err error) error { r := runner{*o}; return r.stopped(err) }

// ResumeHint says how to continue.
func (o *RunOptions) ResumeHint() lang.Text { r := runner{*o}; return r.resumeHint() }

// NewDir returns the directory for the results.
func (o *RunOptions) NewDir() string { r := runner{*o}; return r.newDir() }

func (o *RunOptions) as(f func(*runner) error) error {
	r := runner{*o}
	err := f(&r)
	*o = r.RunOptions
	return err
}

// Attach looks at a run that an earlier command has started in a cluster.
func (o *RunOptions) Attach(ctx context.Context, job string) (d *store.Dir, _ error) {
	o.Study.Name = strings.TrimPrefix(job, "weir-")
	return d, o.as(func(r *runner) (err error) {
		d, err = r.look(ctx, o.At.Machines.(place.Cluster), job)
		return err
	})
}
