package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/record"
)

// A tool is a test probe: its client's last output is its throughput, bit/s.
type tool struct{ argv0 string }

// Info lists the tool unless it is weir itself.
func (t tool) Info() (i probe.Info) {
	if t.argv0 != "weir" {
		i.Tools = []facts.ToolInfo{{Program: t.argv0}}
	}
	return i
}

func (t tool) Commands(probe.Window) (server, client []string) {
	return []string{t.argv0, "engine", "serve"}, []string{t.argv0, "engine", "run"}
}

func (tool) Parse(o probe.Output) (probe.Measured, error) {
	lines := strings.Split(strings.TrimSpace(string(o.Client)), "\n")
	var event struct {
		Rate, Messages float64
		Shared         bool
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &event); err != nil || event.Rate == 0 {
		return probe.Measured{}, fmt.Errorf("tool: %q is no result", lines[len(lines)-1])
	}
	v := event.Rate
	return probe.Measured{
		Values:   []record.Value{{Name: "throughput", Unit: "bit/s", Value: v}, {Name: "window", Unit: "s", Value: 1}},
		Protocol: "udp", Datagram: 1400, Messages: event.Messages, Shared: event.Shared,
	}, nil
}

// serve is a server that is ready at once and ends with its context.
func serve(ctx context.Context, _ []string, stdout, _ io.Writer) error {
	fmt.Fprintln(stdout, `{"event":"ready","address":"x"}`)
	<-ctx.Done()
	return context.Cause(ctx)
}

// send is a client that measures 8000 bit/s for 1 s and uses 0.3 s of CPU time.
func send(cli, srv *node) func(context.Context, []string, io.Writer, io.Writer) error {
	return func(_ context.Context, _ []string, stdout, _ io.Writer) error {
		fmt.Fprintln(stdout, event.MarkBegin)
		time.Sleep(time.Second)
		cli.add(30, 0, 0)
		srv.add(0, 1000, 0)
		fmt.Fprintln(stdout, event.MarkEnd)
		fmt.Fprintln(stdout, rate)
		return nil
	}
}

const rate = `{"event":"result","rate":8000}`

func setup() (s Setup, cli, srv *node, raw map[string]string) {
	cli, srv, raw = &node{name: "h1"}, &node{name: "h2", run: serve}, map[string]string{}
	cli.run = send(cli, srv)
	cli.host = hostOf(cli)
	srv.host = cli.host
	return Setup{
		Probe:  tool{"weir"},
		Client: plan.End{Node: "h1", Host: "h1", Addr: netip.MustParseAddr("198.18.0.1"), Dev: "eth0"},
		Server: plan.End{Node: "h2", Host: "h2", Addr: netip.MustParseAddr("198.18.0.2"), Dev: "eth0"},
		Site: &target.Site{
			Private: true,
			Nodes:   map[string]target.Node{"h1": cli, "h2": srv},
			Verify:  func(context.Context, []plan.State) error { return nil },
		},
		Plan: plan.Plan{Path: plan.Path{MTU: 1500, Outer: 1500}, Expect: []plan.Expect{
			{State: plan.State{In: "h2", Dev: "eth0"}, Proof: plan.Proof{MustCarry: true}}, {State: plan.State{In: "h1"}, Proof: plan.Proof{NoFragments: true}}}},
		Warmup: 100 * time.Millisecond, Duration: time.Second,
		Raw: func(name string, b []byte) error { raw[name] = string(b); return nil },
	}, cli, srv, raw
}

// start starts the engines of a native trial; the test stops them.
func start(t *testing.T, s *Setup) {
	t.Helper()
	if s.Probe != (tool{"weir"}) {
		return
	}
	e, err := StartEngines(context.WithoutCancel(t.Context()), s.Site, s.Client, s.Server, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Stop() }) // some end with an error
	s.Engines = e
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *Setup, cli, srv *node)
		status record.Status
		reason string
	}{
		{"ok", func(*Setup, *node, *node) {}, record.OK, ""},
		{"a foreign tool", func(s *Setup, _, srv *node) { s.Probe, srv.port = tool{"iperf9"}, toolPort }, record.OK, ""},
		{"server ends early", func(s *Setup, _, srv *node) {
			s.Probe = tool{"iperf9"}
			srv.run = func(_ context.Context, _ []string, _, stderr io.Writer) error {
				fmt.Fprintln(stderr, "address in use")
				return errors.New("exit status 1")
			}
		}, record.Failed, "server: exit status 1: address in use"},
		{"server is silent", func(s *Setup, _, _ *node) { s.Probe = tool{"iperf9"} },
			record.Failed, "server: did not listen on port 5201 within 10s"},
		{"client fails", func(s *Setup, cli, srv *node) {
			s.Probe, srv.port = tool{"iperf9"}, toolPort
			cli.run = func(_ context.Context, _ []string, _, stderr io.Writer) error {
				fmt.Fprintln(stderr, "no route\nto host")
				return errors.New("exit status 1")
			}
		}, record.Failed, "client: exit status 1: no route; to host"},
		{"a foreign client complains and ends well", func(s *Setup, cli, srv *node) {
			s.Probe, srv.port = tool{"iperf9"}, toolPort
			cli.run = func(_ context.Context, _ []string, stdout, stderr io.Writer) error {
				fmt.Fprintln(stdout, "-nan")
				fmt.Fprintln(stderr, "connect failed")
				return nil
			}
		}, record.Invalid, `tool: "-nan" is no result: connect failed`},
		{"a foreign client complains on stdout", func(s *Setup, cli, srv *node) {
			s.Probe, srv.port = tool{"iperf9"}, toolPort
			cli.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
				fmt.Fprintln(stdout, "failed to connect")
				return errors.New("exit status 1")
			}
		}, record.Failed, `client: exit status 1: tool: "failed to connect" is no result`},
		{"a foreign server complains on stdout", func(s *Setup, _, srv *node) {
			s.Probe = tool{"iperf9"}
			srv.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
				fmt.Fprintln(stdout, "cannot bind")
				return nil
			}
		}, record.Failed, "server: ended before it could listen on port 5201: cannot bind"},
		{"a foreign client hangs", func(s *Setup, cli, srv *node) {
			s.Probe, srv.port = tool{"iperf9"}, toolPort
			cli.run = func(ctx context.Context, _ []string, _, _ io.Writer) error { <-ctx.Done(); return context.Cause(ctx) }
		}, record.Failed, "took more than 20s longer than its window"},
		{"a foreign server dies, and its client asks forever", func(s *Setup, cli, srv *node) {
			s.Probe, srv.port = tool{"iperf9"}, toolPort
			srv.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
				time.Sleep(time.Second)
				fmt.Fprintln(stdout, "out of memory")
				return errors.New("signal: killed")
			}
			cli.run = func(ctx context.Context, _ []string, _, _ io.Writer) error { <-ctx.Done(); return context.Cause(ctx) }
		}, record.Failed, "client: its server has ended; server: signal: killed: out of memory"},
		{"a foreign server dies, and its client says nothing of it", func(s *Setup, cli, srv *node) {
			s.Probe, srv.port = tool{"iperf9"}, toolPort
			srv.run = func(_ context.Context, _ []string, _, stderr io.Writer) error {
				time.Sleep(time.Second)
				fmt.Fprintln(stderr, "out of memory")
				return errors.New("signal: killed")
			}
			cli.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
				time.Sleep(time.Second + time.Second/2)
				fmt.Fprintln(stdout, "0 answers")
				return nil
			}
		}, record.Invalid, `tool: "0 answers" is no result; server: signal: killed: out of memory`},
		{"the engine reports an error", func(_ *Setup, cli, _ *node) {
			cli.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
				fmt.Fprintln(stdout, `{"event":"error","error":"no route to host"}`)
				return nil
			}
		}, record.Failed, "no route to host"},
		{"the engine dies", func(_ *Setup, cli, _ *node) {
			cli.run = func(context.Context, []string, io.Writer, io.Writer) error { return errors.New("signal: killed") }
		}, record.Failed, "the engine ended"},
		{"client hangs", func(_ *Setup, cli, _ *node) {
			cli.run = func(ctx context.Context, _ []string, _, _ io.Writer) error { <-ctx.Done(); return context.Cause(ctx) }
		}, record.Failed, "took more than 20s longer than its window"},
		{"junk", func(_ *Setup, cli, _ *node) {
			cli.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
				fmt.Fprintln(stdout, `{"event":"result","rate":"what?"}`)
				return nil
			}
		}, record.Invalid, "tool:"},
		{"another path", func(_ *Setup, cli, _ *node) {
			cli.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
				fmt.Fprintln(stdout, rate)
				return nil
			}
		}, record.Invalid, "eth0 of h2 moved 0 bytes in 0 packets, but the probe received 1000 bytes"},
		{"messages through memory", func(_ *Setup, cli, srv *node) {
			cli.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
				srv.add(0, 1000, 0)
				fmt.Fprintln(stdout, `{"event":"result","rate":8000,"messages":2000}`)
				return nil
			}
		}, record.Invalid, "eth0 of h2 moved 1000 bytes in 1 packets, but the probe received 1000 bytes and 2000 messages: the traffic took another path"},
		{"messages that share packets", func(_ *Setup, cli, srv *node) {
			cli.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
				srv.add(0, 1000, 0)
				fmt.Fprintln(stdout, `{"event":"result","rate":8000,"messages":2000,"shared":true}`)
				return nil
			}
		}, record.OK, ""},
		{"fragments", func(_ *Setup, cli, srv *node) {
			run := send(cli, srv)
			cli.run = func(ctx context.Context, a []string, o, e io.Writer) error {
				cli.add(0, 0, 2)
				return run(ctx, a, o, e)
			}
		}, record.Invalid, "ip.FragCreates grew by 2"},
		{"fragments that have to be", func(s *Setup, cli, srv *node) {
			s.Plan.Path.MTU = 1400
			run := send(cli, srv)
			cli.run = func(ctx context.Context, a []string, o, e io.Writer) error {
				cli.add(0, 0, 2)
				return run(ctx, a, o, e)
			}
		}, record.OK, ""},
		{"expectation fails before", func(s *Setup, _, _ *node) {
			s.Site.Verify = func(context.Context, []plan.State) error { return errors.New("MTU is 9") }
		}, record.Invalid, "before: MTU is 9"},
		{"a daemon has died", func(s *Setup, _, _ *node) { s.Site.Verify = dies(1) },
			record.Failed, "before: a service of the network has ended: its last words"},
		{"a daemon dies", func(s *Setup, _, _ *node) { s.Site.Verify = dies(2) },
			record.Failed, "a service of the network has ended: its last words"},
		{"a daemon dies, and so the client", func(s *Setup, cli, _ *node) {
			s.Site.Verify = dies(2)
			cli.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
				fmt.Fprintln(stdout, `{"event":"error","error":"no answer"}`)
				return nil
			}
		}, record.Failed, "its last words\nno answer"},
		{"faster than the link", func(s *Setup, _, _ *node) { s.LinkRate = 1000 }, record.Invalid, "more than the"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, cli, srv, raw := setup()
				c.change(&s, cli, srv)
				start(t, &s)
				r, err := Run(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				if r.Status != c.status || !strings.Contains(r.Reason, c.reason) {
					t.Errorf("got %s %q, want %s %q", r.Status, r.Reason, c.status, c.reason)
				}
				if strings.HasPrefix(c.reason, "before") {
					return // nothing ran
				}
				if raw["commands.json"] == "" || raw["counters.json"] == "" {
					t.Errorf("raw files %v: want commands and counters whatever happened", raw)
				}
			})
		})
	}
}

func TestCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _, raw := setup()
		s.Idle = Idle{"h1": {User: 0.1, Used: 0.15}}
		start(t, &s)
		r, err := Run(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[record.Quantity]float64{
			"cpu.busy": 0.2, "cpu.idle-baseline": 0.1, "packet.size": 1000,
			"cpu.used": 0.4, "cpu.used.baseline": 0.15, "cpu.accounted": 0.9, "cpu.per.bit": 0.25 / 8000,
			"others.user": 0.2, "others.system": 0, "cpu.frequency": 2.3e9,
		} {
			if got, ok := r.Get(name); !ok || math.Abs(got.Value-want) > 1e-7 { // idle time counts from 1970
				t.Errorf("%s = %v, want %v", name, got.Value, want)
			}
		}
		if raw["client.out"] != event.MarkBegin+"\n"+event.MarkEnd+"\n"+rate+"\n" {
			t.Errorf("raw client output %q", raw["client.out"])
		}
	})
}

func TestRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cli, _, raw := setup()
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cli.run = func(ctx context.Context, _ []string, stdout, _ io.Writer) error {
			fmt.Fprintln(stdout, "half")
			cancel(why)
			<-ctx.Done()
			return context.Cause(ctx)
		}
		start(t, &s)
		if _, err := Run(ctx, s); !errors.Is(err, why) {
			t.Errorf("got %v, want the cause of the cancellation", err)
		}
		if raw["client.out"] != "half\n" {
			t.Errorf("what was printed is lost: %q", raw)
		}
	})
	// Where states are checked over a pipe, the run can end meanwhile: that does not make a trial invalid.
	for _, check := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			s, _, _, _ := setup()
			why := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			n := 0
			s.Site.Verify = func(ctx context.Context, _ []plan.State) error {
				if n++; n == check {
					cancel(why)
				}
				return context.Cause(ctx)
			}
			start(t, &s)
			if r, err := Run(ctx, s); !errors.Is(err, why) {
				t.Errorf("check %d: %v, %v, want the cause of the cancellation", check, r.Reason, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s, _, _, _ := setup()
		s.Raw = func(string, []byte) error { return errors.New("no space left on device") }
		start(t, &s)
		if _, err := Run(t.Context(), s); !errors.Is(err, ErrStore) {
			t.Errorf("got %v, want ErrStore", err)
		}
	})
}
