package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/plan"
)

// command runs a command of the study in p, whose log keeps what it prints. Nothing of its process group outlives it.
func (l *lab) command(ctx context.Context, p *place, c *plan.Command) error {
	if !l.commands {
		return errors.New("the command is not allowed: weir runs what a study brings only where its user says so (weir run --allow-commands)")
	}
	if err := l.state(p); err != nil {
		return err
	}
	log, err := l.openLog(p, "command")
	if err != nil {
		return fmt.Errorf("log of the command: %w", err)
	}
	defer log.Close()
	ctx, cancel := bound(ctx, c.Seconds())
	defer cancel()
	cmd, _ := p.command(ctx, plan.Expand(l.values, c.Argv...), nil)
	cmd.Env, cmd.Dir = l.environ(p, nil), hostns.Dir
	cmd.Stdout, cmd.Stderr = log.File, log.File
	if _, err = fmt.Fprintf(log, "%s %q\n", time.Now().UTC().Format(time.RFC3339Nano), cmd.Args); err != nil {
		return fmt.Errorf("log of the command: %w", err)
	}
	if log.from, err = log.Seek(0, io.SeekEnd); err != nil { // an error quotes what comes after the first line
		return err
	}
	if err = p.host.Do(cmd.Start); err == nil {
		err = cmd.Wait()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w%s", strings.Join(cmd.Args, " "), err, log.tail())
	}
	return nil
}
