package job

import (
	"context"
	"errors"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/session"
	"github.com/weir-bench/weir/internal/topo"
)

// HoldLab builds a network in the lab, which has been entered, and keeps it until somebody ends it at the socket.
func HoldLab(ctx context.Context, socket string, on topo.Topology, p plan.Plan) (err error) {
	site, err := place.Lab.Open(ctx, on, "")
	if err != nil {
		return failure.Environment.Of(err)
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	if err := site.Apply(ctx, p.Steps); err != nil {
		return failure.Environment.Of(err)
	}
	return failure.Environment.Of(session.Serve(ctx, socket, site.Nodes))
}

// LabExec runs a command on a node of the lab at a socket, with this process's files, and returns its exit status.
func LabExec(ctx context.Context, socket, node string, argv []string) (status int, err error) {
	done := make(chan error, 1)
	ran := 0
	go func() {
		done <- caught.Error(func() (err error) { ran, err = session.Exec(socket, node, argv); return err })
	}()
	select {
	case err := <-done:
		return ran, failure.Environment.Of(err)
	case <-ctx.Done(): // the holder ends the command when this process is gone
		return 0, context.Cause(ctx)
	}
}
