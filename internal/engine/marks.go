package engine

import (
	"sync"
	"time"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// marks print the beginning and the end of a run's window as its server sees them, for a caller that
// reads the counters of the server's machine at these moments. A client's marks cannot stand for
// them: they reach that caller over another path, and the two machines' clocks differ.
//
// The threads that carry traffic pay nothing: a window begins with a rare message (the first bytes
// of a stream, the request that begins a phase, the one that reads the server's CPU clock) or a
// while after the first message that the server counted. It ends with the traffic, by a rare message
// or with the run, but no later than when its duration is over. Timers run on other threads. They
// can be a millisecond late, which matters at the end of a window, where no traffic follows.
//
// A nil *marks prints nothing. One run at a time has marks: servers with them have a token.
type marks struct {
	out   events
	meter *tally.Meter
	fail  func(error) // ends the server: a window without its marks would look like a client that stalled

	mu    sync.Mutex
	stop  chan struct{} // of the window's timers; nil: no window
	begun int64         // when the window began, or will; 0: not known
	due   bool          // its beginning is to be printed
	open  bool          // its beginning was printed, its end was not
}

// lookEvery is how often marks look for the first message of a window.
const lookEvery = 200 * time.Microsecond

// edge returns what to call for the requests of a run over UDP that can begin or end its window.
func (m *marks) edge(p wire.Params) func(wire.Kind) {
	switch {
	case m == nil:
		return func(wire.Kind) {}
	case p.Workload == "udp-stream":
		return func(k wire.Kind) {
			if k == wire.KindReport {
				if p.Streams == 1 { // otherwise others can still send, and the duration ends the window
					m.finish()
				}
				return
			}
			m.next(0, p.Duration) // the first datagram follows the answer, a round trip later
		}
	case p.Workload == "udp-search": // its client decides when it ends, and the run ends with it
		begin := sync.OnceFunc(func() { m.at(sock.Now(), wire.MaxTime) })
		return func(wire.Kind) { begin() }
	}
	return func(k wire.Kind) {
		if k == wire.KindClock {
			m.at(sock.Now(), p.Duration)
		}
	}
}

// at marks a window of d that begins at begin. A request can be repeated because its answer was
// lost, and the client's window begins after the last one. It is not repeated for half a window, and
// the request that ends the window comes later.
func (m *marks) at(begin int64, d time.Duration) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.begun != 0 && begin-m.begun > int64(d)/2 {
		m.over()
		return
	}
	if m.stop != nil {
		close(m.stop)
	}
	m.stop, m.begun, m.due = make(chan struct{}), begin, true
	stop := m.stop
	m.beside(func() { m.run(begin, d, stop) })
}

// next marks a window of d that begins some time after the next message that the server counts.
// While there is a window, it does nothing.
func (m *marks) next(after, d time.Duration) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stop != nil {
		return
	}
	stop, before := make(chan struct{}), m.meter.Messages()
	m.stop, m.due = stop, true
	m.beside(func() {
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		for m.meter.Messages() == before {
			select {
			case <-look.C:
			case <-stop:
				return
			}
		}
		m.run(sock.Now()+int64(after), d, stop)
	})
}

// beside runs f on a goroutine of its own.
func (m *marks) beside(f func()) {
	go func() {
		if err := caught.Error(func() error { f(); return nil }); err != nil {
			m.fail(err)
		}
	}()
}

func (m *marks) run(begin int64, d time.Duration, stop chan struct{}) {
	for _, edge := range []struct {
		at   int64
		open bool
	}{{begin, true}, {begin + int64(d), false}} {
		timer := time.NewTimer(time.Duration(edge.at - sock.Now()))
		select {
		case <-timer.C:
			m.print(edge.open, stop)
		case <-stop:
			timer.Stop()
			return
		}
	}
}

// print prints an edge unless its window is over.
func (m *marks) print(open bool, stop chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.stop != stop:
	case !open:
		m.over()
	case m.due:
		m.start()
	}
}

// finish ends the window: its traffic has ended.
func (m *marks) finish() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over()
}

// over ends the window, if there is one. A busy machine can delay the timer of its beginning until then. The
// caller holds the lock.
func (m *marks) over() {
	if m.due && m.begun != 0 && m.begun <= sock.Now() {
		m.start()
	}
	if m.open {
		m.out.end()
	}
	m.open = false
}

func (m *marks) start() {
	m.due, m.open = false, true
	m.out.begin()
}

// end ends the window with its run.
func (m *marks) end() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over()
	if m.stop != nil {
		close(m.stop)
	}
	m.stop, m.begun, m.due = nil, 0, false
}
