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
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/kube"
)

// LookFailed is the exit status of a look at a run that failed itself. A run has none as high.
const LookFailed = 99

// Lead runs the study of the pod's Secret with the agents that join, and keeps the results in dir: whoever brings them
// home reports.
func Lead(ctx context.Context, o Caller, dir string) error {
	l, err := net.Listen("tcp", kube.CoordinatorAddr(os.Getenv("WEIR_POD_IP")))
	if err != nil {
		return failure.Environment.Of(err)
	}
	c, what, err := kube.NewCoordinator(os.DirFS(kube.OrderDir), l)
	if err != nil {
		return failure.Environment.Of(err)
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
