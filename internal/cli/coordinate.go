package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/target/kube"
)

// Files of a coordinator's pod: what it has printed, and after the run, its exit status.
const (
	saidFile  = "/tmp/said"
	endedFile = "/tmp/ended"
)

// coordinateCommand is process 1 of a coordinator's pod, and what weir runs next to it to look at it.
func coordinateCommand(version string) *cobra.Command {
	var follow, pack bool
	c := &cobra.Command{
		Use:    "coordinate",
		Short:  "Internal command: carry out a run in a cluster; weir starts it itself",
		Hidden: true,
		Args:   args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			dir := filepath.Join(kube.ResultsDir, filepath.Base(os.Getenv("WEIR_JOB")))
			switch {
			case follow:
				status, err := job.Follow(c.Context(), os.Stdout, saidFile, endedFile)
				if err != nil {
					return failure.Kind(job.LookFailed).Of(err)
				}
				return failure.Ended(status)
			case pack:
				return failure.Environment.Of(store.Pack(os.Stdout, dir))
			}
			return coordinate(c.Context(), version, dir)
		},
	}
	c.Flags().BoolVar(&follow, "follow", false, "print what the coordinator prints until the run ends, and end with its exit status")
	c.Flags().BoolVar(&pack, "pack", false, "write the results as an archive to standard output")
	return c
}

// coordinate carries out the run that the pod's Secret describes, unless a container or pod before this one has begun
// it. Then it keeps the results until somebody has brought them home and removes the Job, or the Job's deadline comes.
func coordinate(ctx context.Context, version, dir string) error {
	told, err := recorded(saidFile)
	if err != nil {
		return failure.Environment.Of(err)
	}
	mark := filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+".ended") // where dir is, unlike endedFile
	status, markErr := os.ReadFile(mark)
	_, begun := os.Stat(dir)
	switch {
	case markErr == nil:
	case begun == nil:
		err = job.Stopped(ctx, dir)
	default:
		err = job.Lead(ctx, caller(version), dir)
	}
	if err != nil {
		tell.Warn(lang.Text(err.Error()))
	}
	told()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if markErr != nil {
		status = []byte(strconv.Itoa(failure.Status(err)))
		_ = store.WriteFile(mark, status) // without it, the run only seems to have been stopped
	}
	if err := store.WriteFile(endedFile, status); err != nil {
		return failure.Environment.Of(err)
	}
	tell.Say(lang.T("the run has ended; its results wait in %s", dir))
	if begun == nil {
		job.Dismiss(ctx)
	}
	<-ctx.Done()
	return context.Cause(ctx) // the Job, which owns the results, is not complete
}

// recorded also writes standard error to a file, until stop returns.
func recorded(file string) (stop func(), err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666) // a container before this one can have begun it
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	own, done := os.Stderr, make(chan struct{})
	os.Stderr = write
	go func() {
		defer close(done)
		_, _ = io.Copy(io.MultiWriter(own, f), read) // whoever is looking can miss it; the run goes on
		_, _ = io.Copy(io.Discard, read)
	}()
	return func() {
		os.Stderr = own
		write.Close()
		<-done
		f.Close()
	}, nil
}
