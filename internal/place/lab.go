package place

import (
	"cmp"
	"context"
	"errors"

	"github.com/weir-bench/weir/internal/cgroup"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target/local"
)

// toBuild is how many threads and processes a command needs at least that builds networks.
const toBuild = 64

func others() (sample.Counters, error) { return sample.Others(rootless.Outside()) }

// inLab runs f in a second process with its own namespaces. The first process starts that one, with its own command
// line, and waits for it.
func inLab(ctx context.Context, f func() error) error {
	if !rootless.Inside() {
		return outside(ctx)
	}
	if err := rootless.Setup(); err != nil {
		return failure.Environment.Of(err)
	}
	return f()
}

// outside is the first process.
func outside(ctx context.Context) error {
	if err := cmp.Or(rootless.Basics(), rootless.Room(toBuild)); err != nil {
		return failure.Environment.Of(err)
	}
	if err := local.KeepSysctls(); err != nil {
		return failure.Environment.Of(err)
	}
	sweep, err := cgroup.Guard()
	if err != nil {
		return failure.Environment.Of(err)
	}
	code, err := rootless.Reexec(ctx)
	err = errors.Join(err, sweep())
	if ctx.Err() != nil && err != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return failure.Environment.Of(err)
	}
	return failure.Ended(code)
}
