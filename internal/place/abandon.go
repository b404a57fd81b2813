package place

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/target/local"
)

// removeWithin bounds the removal of what an interrupted command made in a cluster.
const removeWithin = time.Minute

// abandon leaves the removal of what a command made among machines to a process that outlives this one, which ends
// before a cluster has answered.
func abandon(m Machines, tell lang.Teller) {
	c, ok := m.(interface{ Leftover() (kubectl []string) })
	if !ok {
		return
	}
	argv := c.Leftover()
	if argv == nil {
		return
	}
	pid, err := rootless.Outlive(append([]string{"outlive", removeWithin.String()}, argv...)...)
	if err != nil {
		tell.Note(lang.T("cannot remove what weir made in the cluster (%v); it ends by itself soon; to remove it: %s", err, shellLine(argv)))
		return
	}
	tell.Say(lang.T("process %d removes what weir made in the cluster, within %v", pid, removeWithin))
}

// Remove is the process that abandon starts.
func Remove(ctx context.Context, within time.Duration, argv []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no answer within %v", within))
	defer cancel()
	cmd, tag := local.Command(ctx, argv, nil)
	err := cmd.Run()
	if cmd.Process != nil {
		tag.End(cmd.Process.Pid)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("remove what weir made in the cluster: %w; it ends by itself soon; to remove it: %s", err, shellLine(argv))
	}
	return nil
}

func shellLine(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = plan.ShellWord(a)
	}
	return strings.Join(words, " ")
}
