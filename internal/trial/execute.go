package trial

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/probe"
)

// An execution is what happened between the first and the last reading.
type execution struct {
	server, client program
	readings       readings
	err            error // of the client or the server
}

// execute runs server and client once and reads the counters around them.
func (s *Setup) execute(ctx context.Context) *execution {
	x := &execution{}
	window := max(s.Warmup+s.Duration, probe.HabitsOf(s.Probe).Lasts)
	ctx, cancel := context.WithTimeoutCause(ctx, window+2*grace,
		fmt.Errorf("took more than %v longer than its window", 2*grace))
	defer cancel()
	if _, client := s.commands(toolPort, nil); isOrder(client) {
		_, client = s.commands(s.Engines.addr.Port(), nil)
		s.Engines.execute(ctx, s, client, x)
		return x
	}
	x.client.cpus, x.server.cpus = apart(s.Site.Nodes[s.Client.Node], s.Site.Nodes[s.Server.Node])
	server, client := s.commands(toolPort, x.server.cpus)
	if len(server) > 0 {
		x.server.start(ctx, s.Site.Nodes[s.Server.Node], server)
		if err := x.server.listening(ctx, toolPort, x.server.listens); err != nil {
			x.err = wrap("server", err)
			_ = x.server.stop() // what matters is why it was not ready
			return x
		}
	}
	x.err = s.client(ctx, x, client)
	if x.err == nil && probe.HabitsOf(s.Probe).ServerReports {
		x.server.reports()
	}
	// A server that ended badly while the client was content is no news: iperf3
	// answers SIGTERM with status 1.
	if err := x.server.stop(); err != nil && x.err != nil {
		x.err = fmt.Errorf("%w; server: %w", x.err, err)
	}
	return x
}

// commands asks the probe; cpus are those of the server's programs.
func (s *Setup) commands(port uint16, cpus []int) (server, client []string) {
	w := probe.Window{
		Server: netip.AddrPortFrom(s.Server.Addr, port), MTU: s.Plan.Path.MTU, Warmup: s.Warmup, Duration: s.Duration,
		Client: s.Client.Addr, Devices: slices.Compact([]string{s.Client.Dev, s.Server.Dev})}
	if s.Site.Shell != nil {
		w.Shell, w.Dir = s.Site.Shell(s.Client.Node, s.Server.Node, cpus)
	}
	return s.Probe.Commands(w)
}

// client runs a foreign client, and reads counters where its measured window
// should begin and end by the clock.
func (s *Setup) client(ctx context.Context, x *execution, argv []string) error {
	x.readings.First = s.readAll()
	defer func() { x.readings.Last = s.readAll() }()
	start := time.Now()
	x.client.start(ctx, s.Site.Nodes[s.Client.Node], argv)
	if probe.HabitsOf(s.Probe).StartsLate {
		return wrap("client", x.client.wait())
	}
	begin := wholeSeconds(s.Warmup)
	end := begin + wholeSeconds(s.Duration)
	if x.client.runs(start.Add(begin)) {
		s.ask()
		x.readings.Begin = s.readCost()
		// A tool's clock is not quite ours: one that has ended when its window
		// was nearly over was measured to its end.
		if x.client.runs(start.Add(end)) || time.Since(start) > end-wholeSeconds(s.Duration)/20 {
			s.ask()
			x.readings.End = s.readCost()
		}
	}
	return wrap("client", x.client.wait())
}

// wholeSeconds rounds up to seconds, as the tools do that do not read fractions.
func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

func wrap(who string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", who, err)
	}
	return nil
}
