package keep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Start runs this program with args, detached from the terminal, and returns
// the nodes as soon as it serves the socket. When it ends before that, the
// error is what it said.
func Start(ctx context.Context, socket string, args []string) ([]string, error) {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() {
		msg, _ := io.ReadAll(said)
		err := cmd.Wait()
		if msg = bytes.TrimPrefix(bytes.TrimSpace(msg), []byte("weir: ")); len(msg) > 0 {
			err = errors.New(string(msg))
		}
		ended <- err
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if nodes, err := Nodes(socket); err == nil {
			return nodes, nil
		}
		select {
		case <-tick.C:
		case err := <-ended:
			return nil, fmt.Errorf("the topology ended before it was up: %w", err)
		case <-ctx.Done():
			_ = cmd.Process.Signal(syscall.SIGTERM) // waited for below
			<-ended
			return nil, context.Cause(ctx)
		}
	}
}
