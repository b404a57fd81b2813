package cli

import (
	"context"
	"errors"

	"github.com/weir-bench/weir/internal/cgroup"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/internal/topo"
)

// A place is a target and how the command line enters it.
type place struct {
	target.Target
	kernel func() topo.Kernel                        // which plans need before Open
	enter  func(context.Context, func() error) error // calls f where Open works
	others func() (sample.Counters, error)           // see experiment.Config
}

// thisMachine is where every command builds and measures. Other kinds of targets become other
// values here.
var thisMachine = place{lab.Target{}, lab.Kernel, inLab, others}

func others() (sample.Counters, error) { return sample.Others(rootless.Outside()) }

// inLab runs f in a second process with its own namespaces. The first process starts that one and
// waits for it.
func inLab(ctx context.Context, f func() error) error {
	if !rootless.Inside() {
		if err := local.KeepSysctls(); err != nil {
			return exit(exitEnvironment, err)
		}
		sweep, err := cgroup.Guard()
		if err != nil {
			return exit(exitEnvironment, err)
		}
		code, err := rootless.Reexec(ctx)
		err = errors.Join(err, sweep())
		if ctx.Err() != nil && err != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return exit(exitEnvironment, err)
		}
		return ended(code)
	}
	if err := rootless.Setup(); err != nil {
		return exit(exitEnvironment, err)
	}
	return f()
}
