package job

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/target/kube"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/target/remote"
)

// ServeAgent serves as the agent of this machine, from in to out, until in or ctx ends. See remote.Serve.
func ServeAgent(ctx context.Context, in io.Reader, out io.Writer, remove string) error {
	pipe, from := io.Pipe() // a signal must end a read, too
	go func() {
		_, err := io.Copy(from, in)
		from.CloseWithError(cmp.Or(err, io.EOF))
	}()
	defer context.AfterFunc(ctx, func() { from.CloseWithError(context.Cause(ctx)) })()
	return remote.ServeChanging(pipe, out, remove, &lab.Machine{})
}

// JoinCoordinator serves the coordinator at addr as the agent of this pod. The file holds the token of the run.
func JoinCoordinator(ctx context.Context, addr, tokenFile string) error {
	place, err := kube.PlacementOf(os.Getenv)
	if err != nil {
		return err
	}
	token, err := foreign.ReadFile(tokenFile, 4<<10)
	if err != nil {
		return fmt.Errorf("--token-file: %w", err)
	}
	return remote.Join(ctx, addr, strings.TrimSpace(string(token)), place)
}
