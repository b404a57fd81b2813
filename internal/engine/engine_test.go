package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

var loopbacks = []string{"127.0.0.1:0", "[::1]:0"}

// needFamily skips when this machine has no loopback address of the family.
func needFamily(t testing.TB, addr string) {
	t.Helper()
	fd, err := sock.Listen(unix.SOCK_DGRAM, netip.MustParseAddrPort(addr))
	if err != nil {
		t.Skipf("%s cannot be bound: %v", addr, err)
	}
	unix.Close(fd)
}

// serve starts a server and returns its address and a function that stops it and checks its error.
func serve(t testing.TB, addr string) (string, func()) {
	t.Helper()
	needFamily(t, addr)
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := Main(ctx, []string{"serve", addr, "--open", "--json"}, nil, w)
		w.CloseWithError(io.EOF)
		done <- err
	}()
	line, err := bufio.NewReader(r).ReadBytes('\n')
	if err != nil {
		t.Fatalf("server: %v: %v", err, <-done)
	}
	var ready struct{ Event, Address string }
	if err := json.Unmarshal(line, &ready); err != nil || ready.Event != "ready" {
		t.Fatalf("server said %q, not ready: %v", line, err)
	}
	go io.Copy(io.Discard, r)
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("server: %v", err)
		}
	}
	t.Cleanup(stop)
	return ready.Address, stop
}

func order(ctx context.Context, stdout io.Writer, args ...string) error {
	return command(ctx, args, events{w: stdout, order: true}, io.Discard)
}

func run(t *testing.T, args ...string) ([]string, error) {
	t.Helper()
	var out bytes.Buffer
	err := order(t.Context(), &out, args...)
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), err
}

// measure runs a client that must succeed, checks the marks and decodes the result.
func measure(t *testing.T, v any, args ...string) {
	t.Helper()
	lines, err := run(t, args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	if len(lines) != 3 || lines[0] != event.MarkBegin || lines[1] != event.MarkEnd {
		t.Fatalf("%v printed %q, want begin, end and a result", args, lines)
	}
	if err := wire.StrictJSON([]byte(lines[2]), v); err != nil {
		t.Fatalf("%s: %v", lines[2], err)
	}
}

// measureUntil measures for 30 ms and, until enough accepts the result, again for four times as long:
// a busy machine can leave an end without a CPU for the whole of a short window. The test checks the
// last result, so it fails if no window was long enough.
func measureUntil[T any](t *testing.T, enough func(T) bool, args ...string) T {
	t.Helper()
	for window := 30 * time.Millisecond; ; window *= 4 {
		var r T
		measure(t, &r, append(args[:len(args):len(args)], "--duration", window.String())...)
		if enough(r) || window > 5*time.Second {
			return r
		}
	}
}

// short returns the arguments of a short run; every kernel allows all users reno, and only reno.
func short(workload, addr string, more ...string) []string {
	args := []string{"run", workload, addr, "--duration", "30ms", "--warmup", "20ms"}
	if strings.HasPrefix(workload, "tcp-") {
		args = append(args, "--cc", "reno")
	}
	return append(args, more...)
}

func TestRequestResponse(t *testing.T) {
	for _, loopback := range loopbacks {
		for _, workload := range []string{"tcp-rr", "udp-rr"} {
			t.Run(loopback+" "+workload, func(t *testing.T) {
				addr, _ := serve(t, loopback)
				var r event.RR
				measure(t, &r, short(workload, addr, "--size", "100")...)
				h, err := hdrhistogram.Decode([]byte(r.Hist))
				if err != nil {
					t.Fatal(err)
				}
				if h.TotalCount() != r.Transactions || r.Transactions < 1 || r.Requests != r.Transactions+r.Lost {
					t.Errorf("histogram of %d, %d transactions, %d lost, %d requests", h.TotalCount(), r.Transactions, r.Lost, r.Requests)
				}
				most := r.Window * 1.01
				if workload == "udp-rr" { // a reply that is overdue at the end of the window counts
					most += event.ReplyTimeout.Seconds()
				}
				if float64(h.Max())/1e9 > most || r.Window < 0.03 {
					t.Errorf("longest %d ns in a window of %g s", h.Max(), r.Window)
				}
			})
		}
	}
}

// Each end sets its buffer, and the result has the size in effect: twice the request, within
// net.core.{r,w}mem_max.
func TestBuffers(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	for _, workload := range wire.Workloads {
		if wire.Web(workload) {
			continue // refused, see TestUsage
		}
		var r struct{ SndBuf, RcvBuf int }
		lines, err := run(t, short(workload, addr, "--sndbuf", "30000", "--rcvbuf", "40000")...)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil || r.SndBuf != 60000 || r.RcvBuf != 80000 {
			t.Errorf("%s: send buffer %d, receive buffer %d, want 60000 and 80000 (%v)", workload, r.SndBuf, r.RcvBuf, err)
		}
	}
}

func TestManyClients(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	addr, _ := serve(t, loopbacks[0])
	for range 3 { // one after another on one server
		measure(t, new(event.UDPStream), short("udp-stream", addr, "--rate", "1e6")...)
		measure(t, new(event.UDPStream), short("udp-stream", addr, "--send", "gso")...)
		measure(t, new(event.RR), short("udp-rr", addr)...)
		measure(t, new(event.TCPStream), short("tcp-stream", addr)...)
	}
}

func TestServerGone(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	ends := slices.DeleteFunc(slices.Clone(wire.Workloads), func(w string) bool { return strings.HasSuffix(w, "-outage") }) // to which it is an outage
	for _, named := range append(ends, "tcp-stream --zerocopy", "tcp-stream --sendfile", "tcp-stream --streams 3 --discard", "udp-stream --send mmsg --nap 0", "udp-stream --send gso", "udp-stream --send gso --rate 1e6") {
		t.Run(named, func(t *testing.T) {
			addr, stop := serve(t, loopbacks[0])
			r, w := io.Pipe()
			done := make(chan error, 1)
			go func() {
				workload, flags, _ := strings.Cut(named, " ")
				args := []string{"run", workload, addr, "--duration", "1h", "--timeout", "500ms"}
				args = append(args, strings.Fields(flags)...)
				if strings.HasPrefix(workload, "tcp-") {
					args = append(args, "--cc", "reno")
				}
				err := order(t.Context(), w, args...)
				w.Close()
				done <- err
			}()
			lines := bufio.NewScanner(r)
			if !lines.Scan() || lines.Text() != event.MarkBegin {
				t.Fatalf("client printed %q, not that it began", lines.Text())
			}
			stop()
			begin := time.Now()
			last := ""
			for lines.Scan() {
				last = lines.Text()
			}
			err := <-done
			if err == nil || !strings.Contains(err.Error(), addr) {
				t.Errorf("error %v does not name the server", err)
			}
			if !strings.HasPrefix(last, `{"event":"error","error":"engine: `) {
				t.Errorf("last line %q is not an error event", last)
			}
			if d := time.Since(begin); d > 5*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	why := errors.New("enough")
	for _, workload := range wire.Workloads {
		ctx, cancel := context.WithCancelCause(t.Context())
		r, w := io.Pipe()
		done := make(chan error, 1)
		go func() {
			done <- order(ctx, w, "run", workload, addr, "--duration", "10m", "--cc", "reno")
			w.Close()
		}()
		bufio.NewReader(r).ReadBytes('\n') // begun
		cancel(why)
		go io.Copy(io.Discard, r)
		if err := <-done; !errors.Is(err, why) {
			t.Errorf("%s: %v, want the cause", workload, err)
		}
	}
}

func TestRefused(t *testing.T) {
	addr, stop := serve(t, loopbacks[0])
	stop() // now nothing listens there
	for _, workload := range wire.Workloads {
		lines, err := run(t, short(workload, addr, "--timeout", "50ms")...)
		if !errors.Is(err, unix.ECONNREFUSED) || !strings.Contains(err.Error(), addr) {
			t.Errorf("%s: %v, want refused and the address", workload, err)
		}
		if len(lines) != 1 || !strings.HasPrefix(lines[0], `{"event":"error"`) {
			t.Errorf("%s printed %q, want an error event", workload, lines)
		}
	}
}
