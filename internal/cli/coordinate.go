package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/kube"
)

// Files of a coordinator's pod: what it has printed, and after the run, its exit status.
const (
	saidFile  = "/tmp/said"
	endedFile = "/tmp/ended"
)

// exitLook is the exit status of a look that failed itself. A run has none as high.
const exitLook = 99

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
				status, err := followRun(c.Context(), os.Stdout, saidFile, endedFile)
				if err != nil {
					return exit(exitLook, err)
				}
				return ended(status)
			case pack:
				return exit(exitEnvironment, store.Pack(os.Stdout, dir))
			}
			return coordinate(c.Context(), version, dir)
		},
	}
	c.Flags().BoolVar(&follow, "follow", false, "print what the coordinator prints until the run ends, and end with its exit status")
	c.Flags().BoolVar(&pack, "pack", false, "write the results as an archive to standard output")
	return c
}

// coordinate carries out the run that the pod's Secret describes. Then it keeps the results until
// somebody has brought them home and removes the Job, or the Job's deadline comes.
func coordinate(ctx context.Context, version, dir string) error {
	told, err := recorded(saidFile)
	if err != nil {
		return exit(exitEnvironment, err)
	}
	err = lead(ctx, version, dir)
	if err != nil {
		warn(lang.Text(err.Error()))
	}
	told()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := store.WriteFile(endedFile, []byte(strconv.Itoa(failure.Status(err)))); err != nil {
		return exit(exitEnvironment, err)
	}
	say(lang.T("the run has ended; its results wait in %s", dir))
	<-ctx.Done()
	return nil
}

// recorded also writes standard error to a file, until stop returns.
func recorded(file string) (stop func(), err error) {
	f, err := os.Create(file)
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
		_, _ = io.Copy(io.MultiWriter(own, f), read) // who looks can miss it; the run goes on
		_, _ = io.Copy(io.Discard, read)
	}()
	return func() {
		os.Stderr = own
		write.Close()
		<-done
		f.Close()
	}, nil
}

// lead runs the study of the pod's Secret with the agents that join.
func lead(ctx context.Context, version, dir string) error {
	l, err := net.Listen("tcp", kube.CoordinatorAddr(os.Getenv("WEIR_POD_IP")))
	if err != nil {
		return exit(exitEnvironment, err)
	}
	c, what, err := kube.NewCoordinator(os.DirFS(kube.OrderDir), l)
	if err != nil {
		return exit(exitEnvironment, err)
	}
	s, err := study.Load(what, "study.yaml")
	if err != nil {
		return exit(exitUsage, err)
	}
	r := runner{version: version, study: s, dir: dir, resumeCmd: "weir run --resume DIR, where the results come home"}
	if r.at, err = place.OfCoordinator(c, s, tell); err != nil {
		return err
	}
	return r.at.Enter(ctx, func() error {
		if err := r.settle(); err != nil {
			return err
		}
		if err := r.begin(ctx, ""); err != nil {
			return err
		}
		d, err := r.measure(ctx)
		if err != nil {
			return err
		}
		return d.Close()
	})
}

// followEvery is how often followRun looks for more.
const followEvery = 250 * time.Millisecond

// followRun copies a file that grows until another one exists, and returns the number in that one.
func followRun(ctx context.Context, w io.Writer, said, ended string) (status int, err error) {
	again := time.NewTicker(followEvery)
	defer again.Stop()
	f, err := os.Open(said)
	if err != nil {
		return 0, fmt.Errorf("look at the run: %w", err)
	}
	defer f.Close()
	for {
		end, endErr := os.ReadFile(ended) // before the rest of what was said
		if _, err := io.Copy(w, f); err != nil {
			return 0, err
		}
		if endErr == nil {
			return strconv.Atoi(strings.TrimSpace(string(end)))
		}
		if !errors.Is(endErr, fs.ErrNotExist) {
			return 0, endErr
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}
