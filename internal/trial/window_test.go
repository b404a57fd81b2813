package trial

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/target"
)

// slow is a node whose counters take time to read and on which a server of
// another kind than ours listens.
type slow struct{ *node }

func (n slow) FS() fs.FS {
	time.Sleep(2 * time.Millisecond)
	root := n.node.FS().(fstest.MapFS)
	root["proc/net/tcp"] = &fstest.MapFile{Data: fmt.Appendf(nil,
		"  sl  local_address rem_address   st\n   0: 00000000:%04X 00000000:0000 0A\n", toolPort)}
	return root
}

// The window of a tool that does not say when it begins is counted from its
// start, so that reading the counters does not move its end behind the tool's.
func TestWindowOfOtherTools(t *testing.T) {
	for _, c := range []struct {
		warmup, took time.Duration
		cost         bool
	}{
		{0, 1001 * time.Millisecond, true},
		{time.Second, 2001 * time.Millisecond, true},
		{200 * time.Millisecond, 2001 * time.Millisecond, true}, // rounded up, as the tool does
		{0, 995 * time.Millisecond, true},                       // its second and ours are not quite the same
		{0, 500 * time.Millisecond, false},
		{time.Second, 1500 * time.Millisecond, false},
		{time.Second, 500 * time.Millisecond, false},
	} {
		t.Run(fmt.Sprintf("%v after %v", c.took, c.warmup), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, cli, srv, _ := setup()
				s.Probe, s.Warmup = tool{"iperf9"}, c.warmup
				s.Site.Nodes = map[string]target.Node{"h1": slow{cli}, "h2": slow{srv}}
				cli.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
					time.Sleep(c.took)
					cli.add(30, 0, 0)
					srv.add(0, 1000, 0)
					fmt.Fprintln(stdout, rate)
					return nil
				}
				r, err := Run(t.Context(), s)
				if err != nil || r.Status != "ok" {
					t.Fatalf("%s %s, %v", r.Status, r.Reason, err)
				}
				if _, got := r.Get("cpu.busy"); got != c.cost {
					t.Errorf("CPU time was counted: %v, want %v; warnings %q", got, c.cost, r.Warnings)
				}
			})
		})
	}
}
