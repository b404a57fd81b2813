package engine

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/web"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// natsMain is `weir engine nats`: requests through a NATS server, which this process also answers.
func natsMain(ctx context.Context, args []string, out events, help io.Writer) error {
	c, err := parseNATS(args, help)
	if err != nil {
		return err
	}
	sock.RoomFor(c.Inflight)
	s, release := sock.StopWith(ctx)
	defer release()
	w := newWebRun(c, s)
	w.threads = true
	defer w.close()
	err = <-sock.OnThread(func() error { return w.prepareNATS(ctx) })
	if err == nil {
		err = w.measure(func() (r wire.Reading, err error) { return r, err }, out) // the server tells nothing
	}
	if err != nil {
		return sock.Canceled(ctx, fmt.Errorf("engine: nats %v: %w", c.server, err))
	}
	w.result.Stamps = event.NoStamps + "another program passes messages on"
	return out.print(w.result.RR)
}

func parseNATS(args []string, help io.Writer) (config, error) {
	c := config{Params: wire.Params{Workload: "nats"}}
	fs := flag.NewFlagSet("nats", flag.ContinueOnError)
	fs.DurationVar(&c.Duration, "duration", 10*time.Second, "length of the measured window")
	fs.DurationVar(&c.Warmup, "warmup", 0, "time of requests before the window, which are not counted")
	fs.IntVar(&c.Size, "size", 64, "bytes of a request and of its answer")
	fs.IntVar(&c.Inflight, "inflight", 1, "requests outstanding at once, each over two connections of its own")
	fs.DurationVar(&c.timeout, "timeout", 3*time.Second, "limit for connecting, and for each message")
	pos, err := parseFlags(fs, args, help, "Measure requests through a NATS server, which this program also answers.", "ADDR:PORT")
	if err != nil {
		return c, err
	}
	if c.server, err = parseServer("nats", pos[0]); err != nil {
		return c, err
	}
	err = cmp.Or(event.CheckMessages("nats", c.Size, c.Inflight), event.Within("duration", c.Duration, 1, wire.MaxTime, ""),
		event.Within("warm-up", c.Warmup, 0, wire.MaxTime, ""), event.Within("timeout", c.timeout, 1, wire.MaxTime, ""))
	if err != nil {
		return c, fmt.Errorf("%w: nats: %w", ErrUsage, err)
	}
	return c, nil
}

// A natsAsker asks over a connection of its own, and answers over another one.
type natsAsker struct {
	*web.NATS
	conns []*blockingConn
}

func (w *webRun) prepareNATS(ctx context.Context) error {
	for range w.c.Inflight {
		a := &natsAsker{}
		w.each = append(w.each, a)
		for range 2 {
			t, err := dialOnce(ctx, w.c)
			if err != nil {
				return environmental{fmt.Errorf("connect: %w: is a NATS server listening there?", err)}
			}
			a.conns = append(a.conns, &blockingConn{t.fd, w.stop, w.c.timeout})
		}
		var err error
		if a.NATS, err = web.NewNATS(a.conns[0], a.conns[1], w.c.Size); err != nil {
			return err
		}
	}
	return nil
}

func (a *natsAsker) exchange() (x exchanged, err error) { return x, a.Exchange() }

func (a *natsAsker) close() {
	for _, c := range a.conns {
		c.Close()
	}
}
