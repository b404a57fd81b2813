// Package relay is an overlay in user space: it takes Ethernet frames from a TAP
// device, sends them to neighbours in UDP datagrams, several in one where they
// come close together, and forwards what is for hosts beyond. It is the mechanism
// of overlays that leave the kernel for every packet, such as Weave's sleeve, and
// runs as `weir relay`.
//
// It must not know networks, plans or probes. What the neighbours send is foreign
// input: it is checked, and dropped and counted when it is wrong.
//
// With encryption, frames are sealed with NaCl's box (XSalsa20 and Poly1305),
// with keys that are made when the relay starts and exchanged in the open. That
// costs what encryption costs, and keeps frames from who only listens. It does not
// tell neighbours from impostors, and a sealed datagram can be played again: it is
// a thing to be measured, and no protection.
package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// A Config is one relay.
type Config struct {
	Dev        string // the TAP device; it exists
	Neighbours []Neighbour
	Encrypt    bool
	// Wait is how long a frame may wait for others to share its datagram. With 0
	// it waits as long as more frames are there to be read at once.
	Wait time.Duration
}

// Ready is what Run says when it has opened everything. With encryption the
// neighbours may still have to exchange keys.
const Ready = "relay: ready"

// A relay is one that runs.
type relay struct {
	tap      *tap
	links    []*link
	wait     time.Duration
	counters Counters

	mu    sync.Mutex
	table map[mac]int // the port that a station was last heard on
}

type mac [6]byte

// tapPort is the number of the TAP device among the ports of a relay; its links
// have their index.
const tapPort = -1

// maxStations bounds the table of stations, as a bridge's is in many switches.
const maxStations = 16384

// Run relays until ctx ends or something breaks, and returns what it counted.
func Run(ctx context.Context, c Config, ready io.Writer) (_ Count, err error) {
	r := &relay{wait: c.Wait, table: map[mac]int{}}
	defer func() { err = errors.Join(err, r.close()) }()
	if r.tap, err = openTAP(c.Dev); err != nil {
		return Count{}, err
	}
	for _, n := range c.Neighbours {
		l, err := newLink(n, c.Encrypt, c.Wait, &r.counters)
		if err != nil {
			return Count{}, fmt.Errorf("relay to %v: %w", n.Remote, err)
		}
		r.links = append(r.links, l)
	}
	if _, err := fmt.Fprintln(ready, Ready); err != nil {
		return Count{}, err
	}
	return r.run(ctx)
}

// run starts a reader per port and waits for the first that ends, or for ctx.
func (r *relay) run(ctx context.Context) (Count, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1+2*len(r.links))
	var running sync.WaitGroup
	running.Go(func() { ended <- r.readTAP() })
	for i, l := range r.links {
		running.Go(func() { ended <- r.readLink(i) })
		if l.hold != nil {
			running.Go(func() { ended <- l.hold.run() })
		}
		if l.session != nil {
			running.Go(func() { l.greet(ctx) })
		}
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
		cancel()
	}
	err = errors.Join(err, r.close())
	running.Wait()
	return r.counters.count(), err
}

// close ends the readers. It may be called twice.
func (r *relay) close() error {
	var errs []error
	if r.tap != nil {
		errs = append(errs, r.tap.close())
	}
	for _, l := range r.links {
		errs = append(errs, l.close())
	}
	return errors.Join(errs...)
}

func (r *relay) readTAP() error {
	return r.tap.read(func(frame []byte) {
		r.counters.framesIn.Add(1)
		r.forward(tapPort, frame)
	}, r.flush)
}

func (r *relay) readLink(i int) error {
	return r.links[i].read(func(frame []byte) { r.forward(i, frame) }, r.flush)
}

// flush sends what waits, unless a timer does.
func (r *relay) flush() {
	if r.wait > 0 {
		return
	}
	for _, l := range r.links {
		l.flush()
	}
}

// forward passes a frame on from one port to the port of its receiver, or to all
// others when that is not known.
func (r *relay) forward(from int, frame []byte) {
	dst, src := mac(frame[:6]), mac(frame[6:12])
	r.mu.Lock()
	if _, known := r.table[src]; !src.group() && (known || len(r.table) < maxStations) {
		r.table[src] = from
	}
	to, known := r.table[dst]
	r.mu.Unlock()
	switch {
	case known && to != from:
		r.out(from, to, frame)
	case known: // its receiver has it
	default:
		for to := tapPort; to < len(r.links); to++ {
			if to != from {
				r.out(from, to, frame)
			}
		}
	}
}

func (r *relay) out(from, to int, frame []byte) {
	if to == tapPort {
		r.tap.write(frame, &r.counters)
		return
	}
	if from != tapPort {
		r.counters.framesForwarded.Add(1)
	}
	r.links[to].queue(frame)
}

// group reports whether a is that of a group of stations, or of all (IEEE 802,
// section 8.2).
func (a mac) group() bool { return a[0]&1 == 1 }
