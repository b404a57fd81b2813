package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/kube"
)

// LookFailed is the exit status of a look at a run, if the look itself failed. No run ends with a status this high.
const LookFailed = 99

// Stopped returns the error of a run whose coordinator ended before the run did, once nobody writes to dir anymore.
func Stopped(ctx context.Context, dir string) error {
	again := time.NewTicker(followEvery)
	defer again.Stop()
	for {
		if writes, err := store.Running(dir); err != nil || !writes {
			return failure.Interrupted.Errorf("the coordinator ended before the run did, and the run is stopped; what it measured is kept; where the results come home, weir run --resume DIR continues it")
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Dismiss ends the agents of a stopped run, if they find this coordinator: they dial the address of the first one.
func Dismiss(ctx context.Context) {
	c, _, err := order()
	if err != nil {
		return // they end by themselves
	}
	_ = c.Connect(ctx) // as many as come
	_ = c.Close()
}

// order returns the coordinator of the pod's Secret, and the study.
func order() (*kube.Coordinator, []byte, error) {
	l, err := net.Listen("tcp", kube.CoordinatorAddr(os.Getenv("WEIR_POD_IP")))
	if err != nil {
		return nil, nil, failure.Environment.Of(err)
	}
	c, what, err := kube.NewCoordinator(os.DirFS(kube.OrderDir), l)
	return c, what, failure.Environment.Of(err)
}

// Lead runs the study of the pod's Secret with the agents that join, and keeps the results in dir. It writes no report:
// whoever brings the results home does.
func Lead(ctx context.Context, o Caller, dir string) error {
	c, what, err := order()
	if err != nil {
		return err
	}
	s, err := study.Load(what, "study.yaml")
	if err != nil {
		return failure.Usage.Of(err)
	}
	r := runner{RunOptions{Caller: o, Study: s, Dir: dir, ResumeCmd: "weir run --resume DIR, where the results come home"}}
	if r.At, err = place.OfCoordinator(c, s, o.Tell); err != nil {
		return err
	}
	return r.At.Enter(ctx, func() error {
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

// followEvery is how often Follow looks for more.
const followEvery = 250 * time.Millisecond

// Follow copies a file that grows until another one exists, and returns the number in that one.
func Follow(ctx context.Context, w io.Writer, said, ended string) (status int, err error) {
	again := time.NewTicker(followEvery)
	defer again.Stop()
	f, err := os.Open(said)
	if err != nil {
		return 0, fmt.Errorf("look at the run: %w", err)
	}
	defer f.Close()
	for {
		end, endErr := os.ReadFile(ended) // before the rest of the output
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
