// Package labtest builds networks in the lab and measures on them, for the tests of what such networks run.
// Only tests may import it.
package labtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/engine"
	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/trial"
	"github.com/weir-bench/weir/record"
)

// Main is the body of a TestMain. In the lab the test binary stands in for weir, with the programs that every
// lab needs, and those of more.
func Main(m *testing.M, more map[string]func(ctx context.Context, args []string) error) {
	nstest.Main(m, func(args []string) int {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		var err error
		switch run := more[args[0]]; {
		case run != nil:
			err = run(ctx, args[1:])
		case args[0] == "host":
			err = hostns.Main(args[2:]) // host init …
		case args[0] == "engine" && args[1] == "agent":
			err = engine.Agent(ctx, os.Stdin, os.Stdout, os.Stderr)
		case args[0] == "engine":
			err = engine.Main(ctx, args[1:], os.Stdin, os.Stdout)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	})
}

// Plan returns a topology as close to s as d can connect, and the plan of d for it.
func Plan(t testing.TB, d network.Driver, s topo.Spec) (topo.Topology, plan.Plan) {
	t.Helper()
	tp, err := topo.New(network.Shape(d, s))
	if err != nil {
		t.Fatal(err)
	}
	p, err := network.Build(d, tp)
	if err != nil {
		t.Fatal(err)
	}
	return tp, p
}

// Build builds p until the test ends, and skips the test where the kernel or the user cannot have it.
func Build(t testing.TB, tp topo.Topology, p plan.Plan) *target.Site {
	t.Helper()
	site, err := lab.Open(t.Context(), network.Places(tp), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := site.Close(); err != nil {
			t.Error(err)
		}
	})
	switch err := site.Apply(t.Context(), p.Steps); {
	case err == nil:
	case errors.Is(err, lab.ErrUnsupported), strings.Contains(err.Error(), "not supported by this kernel"), strings.Contains(err.Error(), "run weir as root"):
		t.Skip(err)
	default:
		t.Fatal(err)
	}
	return site
}

// Ends starts engines at two ends of a built network, which stop with the test, for trials of 50 ms.
func Ends(t testing.TB, site *target.Site, p plan.Plan, client, server plan.End) trial.Setup {
	t.Helper()
	e, err := trial.StartEngines(context.WithoutCancel(t.Context()), site, client, server, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	})
	return trial.Setup{Client: client, Server: server, Site: site, Engines: e, Plan: p.On(client, server),
		Duration: 50 * time.Millisecond, Raw: func(string, []byte) error { return nil }}
}

// Up is Build and Ends for a pair of ends, "" for the usual one.
func Up(t testing.TB, tp topo.Topology, p plan.Plan, pair string) trial.Setup {
	t.Helper()
	client, server, err := p.Between(pair)
	if err != nil {
		t.Fatal(err)
	}
	return Ends(t, Build(t, tp, p), p, client, server)
}

// Reach waits until packets of the path's MTU pass.
func Reach(t testing.TB, s trial.Setup) {
	t.Helper()
	if _, err := s.Engines.Reach(t.Context(), s.Plan.Path.MTU, 10*time.Second); err != nil {
		t.Fatalf("MTU %d: %v", s.Plan.Path.MTU, err)
	}
}

// Apply applies steps.
func Apply(t testing.TB, site *target.Site, steps ...plan.Step) {
	t.Helper()
	if err := site.Apply(t.Context(), steps); err != nil {
		t.Fatal(err)
	}
}

// Run runs a trial of a probe.
func Run(t testing.TB, s trial.Setup, pr probe.Probe) record.Result {
	t.Helper()
	s.Probe = pr
	r, err := trial.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
