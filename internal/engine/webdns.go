package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/web"
)

// A dnsAsker looks names up over UDP or TCP. A lookup asks for both families at once over a new socket, as the resolver of
// glibc does, and ends with the second answer. Others ask for one, over a socket that stays.
type dnsAsker struct {
	*connector
	ctx     context.Context
	lookup  bool
	conn    *blockingConn // nil: none
	queries [][]byte
	id      uint16
	in      []byte
}

func newDNSAsker(ctx context.Context, k *connector) (*dnsAsker, error) {
	a := &dnsAsker{ctx: ctx, connector: k, lookup: k.c.Workload == "dns-lookup", in: make([]byte, 1<<16)}
	families := []bool{false}
	if a.lookup {
		families = []bool{false, true}
	}
	for _, six := range families {
		q, err := web.Question(six)
		if err != nil {
			return nil, err
		}
		a.queries = append(a.queries, q)
	}
	return a, nil
}

func (a *dnsAsker) exchange() (x exchanged, err error) {
	if a.conn == nil {
		if x.connect, err = a.open(); err != nil {
			return x, fmt.Errorf("connect: %w", err)
		}
	}
	for _, q := range a.queries {
		web.Number(q, a.id)
		a.id++
		if err := a.send(q); err != nil {
			return x, fmt.Errorf("query: %w", err)
		}
	}
	left := slices.Clone(a.queries)
	for len(left) > 0 {
		b, err := a.receive()
		if errors.Is(err, sock.ErrSilent) && !a.c.overTCP {
			x.lost = true
			break
		}
		if err != nil {
			return x, fmt.Errorf("answer: %w", err)
		}
		for i, q := range left { // an answer to none is to a query that was given up
			if err := web.CheckAnswer(b, q); errors.Is(err, web.ErrOther) {
				continue
			} else if err != nil {
				return x, err
			}
			left = slices.Delete(left, i, i+1)
			break
		}
	}
	if a.lookup {
		a.close()
	}
	return x, nil
}

// open returns how long it took to connect, ns; 0 over UDP.
func (a *dnsAsker) open() (took int64, err error) {
	timeout := a.c.timeout
	var fd int
	if a.c.overTCP {
		var start int64
		if fd, start, err = a.dial(a.ctx); err == nil {
			took = sock.Now() - start
		}
	} else {
		timeout = event.ReplyTimeout
		fd, _, err = sock.DialUDP(a.c.server, 0, sock.Tick)
	}
	if err == nil {
		a.conn = &blockingConn{fd, a.stop, timeout}
	}
	return took, err
}

func (a *dnsAsker) send(q []byte) error {
	if a.c.overTCP {
		q = append(binary.BigEndian.AppendUint16(nil, uint16(len(q))), q...)
	}
	_, err := a.conn.Write(q)
	return err
}

func (a *dnsAsker) receive() ([]byte, error) {
	if !a.c.overTCP {
		n, err := a.conn.Read(a.in)
		return a.in[:n], err
	}
	if _, err := io.ReadFull(a.conn, a.in[:2]); err != nil {
		return nil, err
	}
	b := a.in[:binary.BigEndian.Uint16(a.in)]
	_, err := io.ReadFull(a.conn, b)
	return b, err
}

func (a *dnsAsker) close() {
	if a.conn != nil {
		a.conn.Close()
	}
	a.conn = nil
}
