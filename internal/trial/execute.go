package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

// An execution holds everything between the first and the last reading.
type execution struct {
	server, client program
	readings       readings
	err            error           // of the client or the server
	died           error           // of a server that ended by itself
	background     []record.Value  // what the background did
	watch          *watch          // nil: none
	inside         []sample.Series // of watch, by host
	profiled       profiled
	event          *happening
	clients        []float64 // deliveries per second of the other clients
	backgroundErr  error     // why the background did not meet the trial's needs
	settings       string    // the trial that has stored those that held; "" if unknown
}

// execute runs server and client of all setups concurrently and reads counters around them.
func execute(ctx context.Context, ss []Setup) []*execution {
	xs := make([]*execution, len(ss))
	window := time.Duration(0)
	for i, s := range ss {
		xs[i] = &execution{}
		window = max(window, s.Warmup+s.Duration, s.Probe.Info().AtMost)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, window+2*grace,
		fmt.Errorf("took more than %v longer than its window", 2*grace))
	defer cancel()
	atOnce(len(ss), func(i int) { ss[i].serve(ctx, xs[i]) })
	for i, r := range readAll(context.WithoutCancel(ctx), ss) {
		xs[i].readings.First = r
	}
	atOnce(len(ss), func(i int) {
		if xs[i].err == nil {
			xs[i].watch = ss[i].watch(ctx)
			ss[i].run(ctx, xs[i])
			xs[i].err = errors.Join(xs[i].err, xs[i].event.finish())
			xs[i].inside = xs[i].watch.finish(context.WithoutCancel(ctx), &ss[i])
		}
	})
	for i, r := range readAll(context.WithoutCancel(ctx), ss) {
		xs[i].readings.Last = r
	}
	atOnce(len(ss), func(i int) { ss[i].dismiss(xs[i]) })
	return xs
}

// atOnce runs f(0) to f(n-1) concurrently and waits for all. It panics if one does.
func atOnce(n int, f func(i int)) {
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() { errs[i] = caught.Error(func() error { f(i); return nil }) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			panic(err)
		}
	}
}

// alongside calls f until done. finish panics again if f does.
func (w *watch) alongside(f func()) {
	w.done.Go(func() {
		if err := caught.Error(func() error { f(); return nil }); err != nil {
			w.defect.Store(&err)
		}
	})
}

// native returns the trial's order to the engines, nil for a foreign tool, or a foreign server that an engine of its own asks.
func (s *Setup) native() []string {
	if server, client := s.commands(toolPort, 0, nil); !isOrder(client) || len(server) > 0 && !isOrder(server) {
		return nil
	}
	_, client := s.commands(s.Engines.server.port, 0, nil)
	return client
}

func (s *Setup) serve(ctx context.Context, x *execution) {
	if s.native() != nil {
		return
	}
	x.client.cpus, x.server.cpus = splitCPUs(s.Site.Nodes[s.Client.Node], s.Site.Nodes[s.Server.Node])
	var server []string
	if server, x.client.argv = s.commands(toolPort, 0, x.server.cpus); len(server) == 0 {
		return
	}
	node := s.Site.Nodes[s.Server.Node]
	var lacks error
	_, err := x.server.listen(ctx, s.Site, node, toolPort, func(port uint16) []string {
		data := uint16(0)
		if s.Probe.Info().SecondPort {
			data, lacks = dataPort(s.Site, node, port)
		}
		server, x.client.argv = s.commands(port, data, x.server.cpus)
		return server
	}, func(port uint16) bool { return listening(node, port) })
	if err = cmp.Or(err, lacks); err != nil {
		x.err = wrap("server", err)
		_ = x.server.stop() // why it was not ready matters more
	}
}

func (s *Setup) run(ctx context.Context, x *execution) {
	if order := s.native(); order != nil {
		s.Engines.execute(ctx, s, order, x)
		return
	}
	x.err = s.client(ctx, x)
}

// dismiss ends a foreign tool's server after its client.
func (s *Setup) dismiss(x *execution) {
	if s.native() != nil || x.server.done == nil {
		return
	}
	if x.err != nil || s.Probe.Info().ServerReports {
		x.server.runs(time.Now().Add(farewell)) // or ends by itself: one that died can be why its client failed a moment before
	}
	died := !x.server.alive()
	err := x.server.logged(x.server.stop())
	// A server's failure only matters if the client failed: iperf3 answers SIGTERM with status 1.
	switch {
	case err != nil && x.err != nil:
		x.err = fmt.Errorf("%w; server: %w", x.err, err)
	case died:
		x.died = err
	}
}

// errNoServer ends a client whose server has failed.
var errNoServer = errors.New("its server has ended")

// followServer ends the client soon after the server has failed, because some clients ask forever.
func (x *execution) followServer() error {
	select {
	case <-x.client.done:
	case <-x.server.done: // nil without a server
		if x.server.err != nil && x.client.runs(time.Now().Add(farewell)) {
			x.client.cancel(errNoServer)
		}
	}
	return nil
}

// commands asks the probe; cpus are the server's, and data is its second port, if it needs one.
func (s *Setup) commands(port, data uint16, cpus []int) (server, client []string) {
	w := probe.Window{
		Server: s.Server.Listen(port), Call: s.Server.Dial(port), DataPort: data, Found: !s.Site.Private,
		MTU: s.Plan.Path.MTU, Warmup: s.Warmup, Duration: s.Duration,
		Client: s.Client.Addr, Devices: slices.Compact([]string{s.Client.Dev, s.Server.Dev})}
	if s.Site.Shell != nil {
		w.Shell, w.Dir = s.Site.Shell(s.Client.Node, s.Server.Node, cpus)
	}
	return s.Probe.Commands(w)
}

// client runs a foreign client and reads counters at its window's edges by the clock.
func (s *Setup) client(ctx context.Context, x *execution) error {
	start := time.Now()
	x.client.start(ctx, s.Site.Nodes[s.Client.Node], x.client.argv)
	go func() { _ = caught.Error(x.followServer) }()
	if s.Probe.Info().StartsLate {
		return wrap("client", x.client.wait())
	}
	begin := wholeSeconds(s.Warmup)
	end := begin + wholeSeconds(s.Duration)
	if x.client.runs(start.Add(begin)) {
		x.event = s.happen(ctx)
		s.ask()
		x.readings.Begin = s.readCost(ctx, nil)
		x.watch.edge(ctx, x.readings.Begin)
		// Clocks differ slightly: a tool that nearly finishes its window has measured it.
		if x.client.runs(start.Add(end)) || time.Since(start) > end-wholeSeconds(s.Duration)/20 {
			s.ask()
			x.readings.End = s.readCost(ctx, nil)
			x.watch.edge(ctx, x.readings.End)
		}
	}
	return wrap("client", x.client.wait())
}

// wholeSeconds rounds up to seconds, like tools that do not read fractions.
func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

func wrap(who string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", who, err)
	}
	return nil
}
