package trial

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
)

// An edges holds what a program's own host read at the beginning and the end of a window: when the
// program printed the marks, however far away the coordinator is.
type edges struct {
	mu    sync.Mutex
	taken *target.Reading    // belongs to the next mark
	begun bool               // the first mark has come
	at    [2]*target.Reading // begin and end; nil: none came
	over  chan struct{}      // closed when the end has come
}

// mark returns a Mark that feeds e.
func (e *edges) mark(sources []string) *target.Mark {
	e.reset()
	return &target.Mark{Lines: []string{event.MarkBegin, event.MarkEnd}, Sources: sources, Take: func(r target.Reading) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.taken = &r
	}}
}

// reset forgets the last window.
func (e *edges) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.taken, e.begun, e.at, e.over = nil, false, [2]*target.Reading{}, make(chan struct{})
}

// line takes a line of the program's output and returns the reading of the mark, if it is one and
// has one. A reading belongs to the one mark that follows it.
func (e *edges) line(line string) *target.Reading {
	e.mu.Lock()
	defer e.mu.Unlock()
	taken := e.taken
	switch {
	case line == event.MarkBegin:
		e.begun, e.at[0], e.taken = true, taken, nil
	case line == event.MarkEnd && e.begun: // that of an earlier window can come late
		e.begun, e.at[1], e.taken = false, taken, nil
		select {
		case <-e.over: // by that of an earlier window, late
		default:
			close(e.over)
		}
	default:
		return nil
	}
	return taken
}

// wait waits for both readings, but not longer than patience, and returns them.
func (e *edges) wait(ctx context.Context, patience time.Duration) [2]*target.Reading {
	e.mu.Lock()
	over := e.over
	e.mu.Unlock()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-over:
	case <-late.C:
	case <-ctx.Done():
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.at
}

// markSources are the counters that engines of two machines read at their marks: those that the
// coordinator reads at the client's marks in the lab.
var markSources = append(costSources[:len(costSources):len(costSources)], sample.OfNetDev)

// edges returns what the ends' hosts read at their own engine's marks of the last order: begin and
// end. It waits for the server's marks, which take another way to the coordinator. An entry is nil
// if its mark did not come, and the server's are nil unless it was started with marks.
func (e *Engines) edges(ctx context.Context) (client, server [2]*target.Reading) {
	client = e.client.edges.wait(ctx, 0)
	if e.marks {
		server = e.server.edges.wait(ctx, farewell)
	}
	return client, server
}

// remark replaces the coordinator's readings of the server's host in x by the host's own at the
// marks of its engine.
func (e *Engines) remark(ctx context.Context, s *Setup, x *execution) {
	if !e.marks || x.err != nil {
		return
	}
	_, server := e.edges(ctx)
	h := s.Site.Nodes[s.Server.Node].Host()
	first := x.readings.First.Hosts[h.ID].At // a mark of an earlier order can arrive late
	if server[0] == nil || server[1] == nil || server[0].Counters == nil || server[1].Counters == nil || server[0].At < first || server[1].At <= server[0].At {
		x.readings.End.Missing = append(x.readings.End.Missing,
			fmt.Sprintf("%s: the server's marks did not arrive; its counters were read at the client's marks instead", s.Server.Node))
		return
	}
	for i, at := range []*reading{&x.readings.Begin, &x.readings.End} {
		if at.Hosts != nil {
			at.marked(h, s.Server.Node, *server[i])
		}
	}
}
