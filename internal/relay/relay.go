// Package relay is an overlay in user space, run as `weir relay`. It sends Ethernet frames from a
// TAP device to neighbors in UDP datagrams, several in one if they arrive close together, and
// forwards frames for hosts beyond a neighbor. This is the mechanism of overlays in which every
// packet leaves the kernel, such as Weave's sleeve.
//
// It must not know networks, plans or probes. Everything from neighbors is foreign input: it is
// checked, and dropped and counted if invalid.
//
// With encryption, it seals frames with NaCl's box (XSalsa20 and Poly1305), using keys that it
// makes at start and exchanges in the open. This costs what encryption costs and hides frames from
// a passive listener, but it is there to be measured, not to protect: it does not distinguish
// neighbors from impostors, and sealed datagrams can be replayed.
package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/weir-bench/weir/internal/caught"
)

// A Config describes one relay.
type Config struct {
	Dev       string // the TAP device, which must exist
	Neighbors []Neighbor
	Encrypt   bool
	// Wait is how long a frame can wait for others to share its datagram. At 0 it waits only while
	// more frames can be read at once.
	Wait time.Duration
}

// Ready is the line that Run prints once everything is open, even if keys are not yet exchanged.
const Ready = "relay: ready"

type relay struct {
	tap      *tap
	links    []*link
	wait     time.Duration
	counters Counters

	mu    sync.Mutex
	table map[mac]int // by station, the port that last received a frame from it
}

type mac [6]byte

// tapPort is the port number of the TAP device; a link's is its index.
const tapPort = -1

// maxStations bounds the table of stations, as many switches do.
const maxStations = 16384

// Run relays frames until ctx ends or an error occurs, and returns its counters.
func Run(ctx context.Context, c Config, ready io.Writer) (_ Count, err error) {
	r := &relay{wait: c.Wait, table: map[mac]int{}}
	defer func() { err = errors.Join(err, r.close()) }()
	if r.tap, err = openTAP(c.Dev); err != nil {
		return Count{}, err
	}
	for _, n := range c.Neighbors {
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

// run starts a reader per port and waits until one of them or ctx ends.
func (r *relay) run(ctx context.Context) (Count, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1+2*len(r.links))
	var running sync.WaitGroup
	running.Go(func() { ended <- caught.Error(r.readTAP) })
	for i, l := range r.links {
		running.Go(func() { ended <- caught.Error(func() error { return r.readLink(i) }) })
		if l.session != nil {
			running.Go(func() {
				if err := caught.Error(func() error { l.sendHellos(ctx); return nil }); err != nil {
					ended <- err
				}
			})
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

// close ends the readers. It can be called twice.
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

func (r *relay) flush() {
	if r.wait > 0 {
		return
	}
	for _, l := range r.links {
		l.flush()
	}
}

// forward passes a frame to the port of its receiver, or to all other ports if that is unknown.
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
	case known: // its receiver got it directly
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

// group reports whether a is a group or broadcast address (IEEE 802, section 8.2).
func (a mac) group() bool { return a[0]&1 == 1 }

// A Neighbor is a relay that this one reaches directly. Relays form a tree, usually a line: a frame
// for an unknown station goes to all ports except the one it came from.
type Neighbor struct {
	Local, Remote netip.AddrPort
}

// ParseNeighbor parses LOCAL,REMOTE.
func ParseNeighbor(s string) (n Neighbor, err error) {
	local, remote, ok := strings.Cut(s, ",")
	if !ok {
		return n, fmt.Errorf("invalid neighbor %q: want LOCAL,REMOTE", s)
	}
	if n.Local, err = netip.ParseAddrPort(local); err != nil {
		return n, err
	}
	n.Remote, err = netip.ParseAddrPort(remote)
	return n, err
}
