// Package distance is the program that delays and drops packets between hosts, run as `weir
// distance`, on kernels without netem. The kernel's bridge hands every packet that is about to leave
// a port to a queue of netfilter (nfnetlink_queue), and the program says when it goes on. Packets
// stay in the kernel whole, segmentation offload and tunnels included; the program sees only their
// numbers and arrival times.
//
// It must not know networks, plans or probes, and it acts only in its own network namespace.
package distance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/weir-bench/weir/internal/caught"
)

// A Setting says how to delay and drop packets before they leave Port of Bridge. They stay in order.
type Setting struct {
	Bridge string        `json:"bridge"`
	Port   string        `json:"port"`
	Delay  time.Duration `json:"delay"`  // ns, each way
	Jitter time.Duration `json:"jitter"` // ns: the delay of a packet is uniform in Delay ± Jitter
	Loss   float64       `json:"loss"`   // share of packets that never leave, 0 to 1
}

// A Count holds what the program has counted since the last Read.
type Count struct {
	Packets uint64 `json:"packets"` // released; what a sender hands over for segmentation is one
	Lost    uint64 `json:"lost"`    // dropped because of Loss
	// Dropped packets found no room: the program is slower than the traffic.
	Dropped uint64 `json:"dropped"`
	// Late is how long after its time a packet was released, seconds: the 99th percentile and the
	// maximum.
	Late99  float64 `json:"late99"`
	LateMax float64 `json:"late_max"`
	Busy    float64 `json:"busy"` // the share of time for which its thread used a CPU
}

// Ready is the line that Run prints once it accepts settings.
const Ready = "distance: ready"

// address is abstract (unix(7)), so it belongs to the network namespace and leaves no file.
const address = "@weir-distance"

// A request sets one port, or reads the counts.
type request struct {
	Set  *Setting `json:"set,omitempty"`
	Read bool     `json:"read,omitempty"`
}

type answer struct {
	Error string `json:"error,omitempty"`
	Count *Count `json:"count,omitempty"`
}

// Set changes the setting of a port in the program of this thread's network namespace.
func Set(ctx context.Context, s Setting) error {
	_, err := ask(ctx, request{Set: &s})
	return err
}

// Read returns what the program in this thread's network namespace counted since the last Read.
func Read(ctx context.Context) (Count, error) {
	a, err := ask(ctx, request{Read: true})
	if err != nil || a.Count == nil {
		return Count{}, errors.Join(err, errors.New("distance: no counts"))
	}
	return *a.Count, nil
}

// patience bounds a request to the program.
const patience = 5 * time.Second

func ask(ctx context.Context, r request) (a answer, err error) {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: address, Net: "unix"}) // without a goroutine of its own: it must stay on this thread
	if err != nil {
		return a, fmt.Errorf("distance: %w", err)
	}
	defer c.Close()
	until := time.Now().Add(patience)
	if limit, ok := ctx.Deadline(); ok && limit.Before(until) {
		until = limit
	}
	if err := c.SetDeadline(until); err != nil {
		return a, err
	}
	if err := json.NewEncoder(c).Encode(r); err != nil {
		return a, fmt.Errorf("distance: %w", err)
	}
	if err := json.NewDecoder(c).Decode(&a); err != nil {
		return a, fmt.Errorf("distance: no answer: %w", err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// Run serves requests until ctx ends or the queue fails. When it ends, for whatever reason, no bridge
// forwards anything: packets never travel without their delay.
func Run(ctx context.Context, ready io.Writer) (err error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	q, err := newQueue()
	if err == nil {
		defer func() { err = errors.Join(err, q.close()) }()
		err = divert()
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	failed := make(chan error, 2)
	q.started = true
	go func() { failed <- caught.Error(q.run) }()
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := caught.Error(func() error { serve(l, q); return nil }); err != nil {
			failed <- err
		}
	})
	if _, err = fmt.Fprintln(ready, Ready); err == nil {
		select {
		case <-ctx.Done():
		case err = <-failed:
		}
	}
	err = errors.Join(err, l.Close())
	serving.Wait()
	return err
}

// serve answers one request per connection, one after another, until l is closed.
func serve(l *net.UnixListener, q *queue) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_ = c.SetDeadline(time.Now().Add(patience)) // a connection that is gone fails below
		var r request
		if err := json.NewDecoder(c).Decode(&r); err == nil {
			_ = json.NewEncoder(c).Encode(q.answer(r))
		}
		c.Close()
	}
}

func (q *queue) answer(r request) (a answer) {
	var err error
	switch {
	case r.Set != nil:
		err = q.hold(*r.Set)
	case r.Read:
		var c Count
		c, err = q.count()
		a.Count = &c
	}
	if err != nil {
		a.Error = fmt.Sprintf("distance: %v", err)
	}
	return a
}

func (q *queue) hold(s Setting) error {
	dev, err := net.InterfaceByName(s.Port)
	if err != nil {
		return fmt.Errorf("port %s: %w", s.Port, err)
	}
	if err := promiscuous(s.Bridge); err != nil {
		return fmt.Errorf("set %s promiscuous: %w", s.Bridge, err)
	}
	q.set(uint32(dev.Index), s)
	return nil
}
