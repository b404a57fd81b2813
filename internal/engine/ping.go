package engine

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"net/netip"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

const (
	pingTimeout = time.Second // after the last request; replies after that are lost
	maxPings    = 1 << 24
)

func pingMain(ctx context.Context, args []string, out events, help io.Writer) error {
	p, err := parsePing(args, help)
	if err != nil {
		return err
	}
	sock.RoomFor(1)
	s, release := sock.StopWith(ctx)
	defer release()
	p.stop = s
	if p.sock, err = sock.NewICMP(p.to, p.size); err != nil {
		return err
	}
	defer unix.Close(p.sock.FD)
	r, err := onThread(func() (event.Ping, error) { return p.run(out) })
	if err != nil {
		return sock.Canceled(ctx, fmt.Errorf("engine: ping %v: %w", p.to, err))
	}
	return out.print(r)
}

func parsePing(args []string, help io.Writer) (*pinger, error) {
	p := &pinger{hist: event.NewHist()}
	fs := flag.NewFlagSet("ping", flag.ContinueOnError)
	count := fs.Int64("count", 0, "requests; 0 sends as many as fit the duration")
	duration := fs.Duration("duration", 0, "length of the measured window (default 1s without --count)")
	fs.DurationVar(&p.warmup, "warmup", 0, "time of requests before the window, which are not counted")
	fs.DurationVar(&p.interval, "interval", 10*time.Millisecond, "time from one request to the next")
	fs.IntVar(&p.size, "size", 56, "bytes of data, as ping -s counts them")
	pos, err := parseFlags(fs, args, help, "Measure the time of ICMP echoes. Needs no server.", "ADDR")
	if err != nil {
		return p, err
	}
	p.to, err = netip.ParseAddr(pos[0])
	p.to = p.to.Unmap()
	if *count == 0 && *duration == 0 {
		*duration = time.Second
	}
	if err != nil || p.to.Zone() != "" {
		err = fmt.Errorf("%q is not a literal address (without a zone)", pos[0])
	}
	err = cmp.Or(err,
		event.Within("size", p.size, 0, event.MaxDatagram, "bytes"),
		event.Within("interval", p.interval, event.MinPing, event.MaxPing, ""),
		event.Within("duration", *duration, 0, wire.MaxTime, ""),
		event.Within("warm-up", p.warmup, 0, wire.MaxTime, ""),
		event.Within("count", *count, 0, maxPings, ""))
	if err != nil {
		return p, fmt.Errorf("%w: ping: %w", ErrUsage, err)
	}
	p.requests = math.MaxInt64
	if *count > 0 {
		p.requests = *count
	}
	if *duration > 0 {
		p.requests = min(p.requests, slots(*duration, p.interval))
	}
	return p, nil
}

func slots(d, interval time.Duration) int64 { return int64((d + interval - 1) / interval) }

// A pinger matches replies with requests. Its table holds the last 65536 requests: 6 s at the
// shortest interval.
type pinger struct {
	to               netip.Addr
	size             int
	interval, warmup time.Duration
	requests         int64 // measured

	sock *sock.ICMP
	stop *sock.Stopper
	hist *hdrhistogram.Histogram

	sent       [1 << 16]int64 // time by sequence number, 0 once answered
	warm       int64          // requests of the warm-up
	asked      int64          // requests so far, warm-up included
	answered   int64          // of the measured requests
	heard      bool           // a request of the warm-up was answered
	duplicates int64
	lastError  unix.Errno
}

func (p *pinger) run(out events) (event.Ping, error) {
	p.warm = slots(p.warmup, p.interval)
	start := sock.Now()
	begin := start
	total := p.warm + p.requests
	for p.asked < total {
		if p.asked == p.warm {
			out.begin()
			begin = sock.Now()
		}
		seq := uint16(p.asked)
		p.sent[seq] = sock.Now()
		if errno := p.sock.Send(seq); errno != 0 {
			p.lastError = errno
		}
		p.asked++
		if err := p.listen(start+p.asked*int64(p.interval), false); err != nil {
			return event.Ping{}, err
		}
	}
	window := sock.Now() - begin
	out.end()
	if err := p.listen(sock.Now()+int64(pingTimeout), true); err != nil {
		return event.Ping{}, err
	}
	if p.answered == 0 && !p.heard { // otherwise it is a stall
		return event.Ping{}, p.unanswered()
	}
	hist, err := event.EncodeHist(p.hist)
	r := event.Ping{Requests: p.requests, Transactions: p.answered, Lost: p.requests - p.answered, Duplicates: p.duplicates,
		Hist: hist, Socket: map[bool]string{false: "dgram", true: "raw"}[p.sock.Raw]}
	r.Head = event.NewHead("ping", p.to.String(), p.size, time.Duration(window))
	return r, err
}

func (p *pinger) unanswered() error {
	if p.lastError != 0 {
		return fmt.Errorf("none of %d requests was answered: %w", p.requests, p.lastError)
	}
	return fmt.Errorf("none of %d requests was answered within %v", p.requests, pingTimeout)
}

// listen reads replies until t and all that are waiting then; with drain it stops at the last
// reply.
func (p *pinger) listen(t int64, drain bool) error {
	for {
		left := max(t-sock.Now(), 0)
		if drain && p.answered == p.requests {
			return nil
		}
		came := sock.HotPoll(p.sock.FD, unix.POLLIN, time.Duration(left))
		switch {
		case p.stop.Stopped():
			return sock.ErrStopped
		case came == 0 && left == 0:
			return nil
		case came == 0:
			continue
		}
		got, errno := sock.HotRecv(p.sock.FD, p.sock.Buf, 0)
		at := sock.Now()
		switch {
		case sock.Again(errno):
		case errno != 0:
			p.lastError = errno
		default:
			seq, ok := p.sock.Parse(p.sock.Buf[:got])
			if !ok {
				continue
			}
			if err := p.reply(seq, at); err != nil {
				return err
			}
		}
	}
}

func (p *pinger) reply(seq uint16, at int64) error {
	// The 16 bits identify the latest request that has them.
	request := p.asked - 1 - int64(uint16(p.asked-1)-seq)
	if request < p.warm {
		p.heard = true
		return nil
	}
	if p.sent[seq] == 0 {
		p.duplicates++
		return nil
	}
	rtt := at - p.sent[seq]
	p.sent[seq] = 0
	p.answered++
	return p.hist.RecordValue(max(rtt, 1))
}
