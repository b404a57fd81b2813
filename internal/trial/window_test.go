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

	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/record"
)

// slow is a node with a listening foreign server and counters that take time to read.
type slow struct{ *node }

func (n slow) FS() fs.FS {
	time.Sleep(2 * time.Millisecond)
	root := n.node.FS().(fstest.MapFS)
	root["proc/net/tcp"] = &fstest.MapFile{Data: fmt.Appendf(nil,
		"  sl  local_address rem_address   st\n   0: 00000000:%04X 00000000:0000 0A\n", toolPort)}
	return root
}

func (n slow) Sample(_ context.Context, sources ...string) (target.Reading, error) {
	return local.Sample(n.FS(), sources...), nil
}

// The window of a tool that does not announce it is timed from the tool's start, so that reading
// counters does not move its end past the tool's.
func TestWindowOfOtherTools(t *testing.T) {
	for _, c := range []struct {
		warmup, took time.Duration
		cost         bool
	}{
		{0, 1001 * time.Millisecond, true},
		{time.Second, 2001 * time.Millisecond, true},
		{200 * time.Millisecond, 2001 * time.Millisecond, true}, // rounded up, like the tool
		{0, 995 * time.Millisecond, true},                       // clocks differ slightly
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
					t.Errorf("CPU time was counted: %v, want %v; notes %q", got, c.cost, r.Notes)
				}
			})
		})
	}
}

// A habit is a test tool that describes itself.
type habit struct {
	tool
	info probe.Info
}

func (h habit) Info() probe.Info { return h.info }

func (h habit) Parse(o probe.Output) (probe.Measured, error) {
	if h.info.ServerReports {
		o.Client = o.Server
	}
	return h.tool.Parse(o)
}

// A tool's description decides how a trial runs it.
func TestInfo(t *testing.T) {
	for _, c := range []struct {
		name   string
		info   probe.Info
		warmup time.Duration
		cost   bool
	}{
		{"none: it would measure after a warm-up, and ends during it", probe.Info{}, time.Second, false},
		{"no warm-up: it measures from its start", probe.Info{NoWarmup: true}, time.Second, true},
		{"starts late: nobody knows when it measures", probe.Info{NoWarmup: true, StartsLate: true}, 0, false},
		{"the server reports after its client", probe.Info{ServerReports: true}, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, cli, srv, _ := setup()
				s.Probe, s.Warmup = habit{tool{"iperf9"}, c.info}, c.warmup
				s.Site.Nodes = map[string]target.Node{"h1": slow{cli}, "h2": slow{srv}}
				over := make(chan struct{})
				cli.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
					time.Sleep(1001 * time.Millisecond)
					cli.add(30, 0, 0)
					srv.add(0, 1000, 0)
					if !c.info.ServerReports {
						fmt.Fprintln(stdout, rate)
					}
					close(over)
					return nil
				}
				srv.run = func(ctx context.Context, _ []string, stdout, _ io.Writer) error {
					<-over
					select {
					case <-time.After(farewell / 2):
						fmt.Fprintln(stdout, rate)
						return nil
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}
				r, err := Run(t.Context(), s)
				if err != nil || r.Status != record.OK {
					t.Fatalf("%s %s, %v", r.Status, r.Reason, err)
				}
				if _, got := r.Get("cpu.busy"); got != c.cost {
					t.Errorf("CPU time was counted: %v, want %v; notes %q", got, c.cost, r.Notes)
				}
				if _, got := r.Observed["warmup"]; got != c.info.NoWarmup {
					t.Errorf("found %v: whether there was a warm-up is not told", r.Observed)
				}
			})
		})
	}
}

// A tool that sets its own measuring time gets that time.
func TestAtMost(t *testing.T) {
	for lasts, want := range map[time.Duration]record.Status{0: record.Failed, 24 * time.Second: record.OK} {
		synctest.Test(t, func(t *testing.T) {
			s, cli, srv, _ := setup()
			s.Probe = habit{tool{"iperf9"}, probe.Info{StartsLate: true, AtMost: lasts}}
			srv.port = toolPort
			cli.run = func(ctx context.Context, _ []string, stdout, _ io.Writer) error {
				select {
				case <-time.After(24 * time.Second):
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				cli.add(30, 0, 0)
				srv.add(0, 1000, 0)
				fmt.Fprintln(stdout, rate)
				return nil
			}
			if r, err := Run(t.Context(), s); err != nil || r.Status != want {
				t.Errorf("lasts %v: %s %s, %v, want %s", lasts, r.Status, r.Reason, err, want)
			}
		})
	}
}
