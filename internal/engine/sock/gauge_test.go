package sock

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/wire"
)

// Two threads that compute on one CPU wait for each other, and a gauge shows what the kernel's file says.
func TestGaugeWaits(t *testing.T) {
	cpus, err := OwnCPUs()
	if err != nil {
		t.Fatal(err)
	}
	RoomFor(2)
	one := setOf(cpus[0])
	var stop Stopper
	hog := OnThread(func() error {
		err := unix.SchedSetaffinity(0, &one)
		for err == nil && !stop.Stopped() {
			CPU()
		}
		return err
	})
	tid, ask, answer := make(chan int, 1), make(chan struct{}), make(chan wire.Reading)
	worker := OnThread(func() error {
		if err := unix.SchedSetaffinity(0, &one); err != nil {
			return err
		}
		g := NewGauge(-1)
		defer g.Close()
		tid <- unix.Gettid()
		for range ask {
			for begin := CPU(); CPU()-begin < int64(5*time.Millisecond); {
			}
			answer <- g.Read()
		}
		return nil
	})
	defer func() {
		close(ask)
		stop.Stop()
		for _, thread := range []<-chan error{hog, worker} {
			if err := <-thread; err != nil {
				t.Error(err)
			}
		}
	}()
	file := "/proc/self/task/" + strconv.Itoa(<-tid) + "/schedstat"
	outside := func() int64 {
		b, err := os.ReadFile(file)
		if f := strings.Fields(string(b)); err == nil && len(f) == 3 && f[2] != "0" {
			delay, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Errorf("%s: %q: %v", file, b, err)
			}
			return delay
		}
		return -1
	}
	if outside() < 0 {
		t.Skipf("%s: this kernel does not count run-queue waits (CONFIG_SCHED_INFO)", file)
	}
	ask <- struct{}{}
	first := <-answer
	for deadline := Now() + int64(30*time.Second); ; {
		least := outside()
		ask <- struct{}{}
		r := <-answer
		if most := outside(); r.RunDelay < least || r.RunDelay > most {
			t.Errorf("waited %d ns, %s has %d before and %d after", r.RunDelay, file, least, most)
			return
		}
		used := r.Since(first)
		if used.RunDelay > int64(10*time.Millisecond) {
			return
		}
		if Now() > deadline {
			t.Errorf("with %v of CPU time and another busy thread on CPU %d, a wait of %v", time.Duration(used.CPU), cpus[0], time.Duration(used.RunDelay))
			return
		}
	}
}

// A wait that the kernel does not count is unknown, not 0.
func TestGaugeUnknown(t *testing.T) {
	for text, want := range map[string]int64{"5 7 1\n": 7, "5 0 1\n": 0, "0 0 0\n": -1, "": -1, "5 7\n": -1, "5 -7 1\n": -1, "5 x 1\n": -1, "5 99999999999999999999 1\n": -1} {
		file := filepath.Join(t.TempDir(), "schedstat")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		g := &Gauge{stat: fd, conn: -1}
		if got := g.Read(); got.RunDelay != want || got.CPU == 0 {
			t.Errorf("%q: %+v, want a wait of %d", text, got, want)
		}
		g.Close()
	}
	for _, g := range []*Gauge{nil, {stat: -1, conn: -1}} {
		if r := g.Read(); r.RunDelay != -1 || r.CPU == 0 || r.TCP != (wire.TCP{}) {
			t.Errorf("%+v", r)
		}
	}
}

// connected returns the two ends of a connection over loopback.
func connected(t testing.TB) (a, b int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var fds [2]int
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []net.Conn{near, far} {
		f, err := c.(*net.TCPConn).File()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close(); c.Close() })
		fds[i] = int(f.Fd()) // blocking from here on
	}
	return fds[0], fds[1]
}

// Segments and time count at the end that sends, until the other end takes no more.
func TestGaugeConnection(t *testing.T) {
	near, far := connected(t)
	g := NewGauge(near)
	defer g.Close()
	before := g.Read()
	if err := SetTimeouts(near, 10*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1<<20)
	for {
		if _, errno := Send(near, buf); errno == unix.EAGAIN {
			break // the buffers at both ends are full
		} else if errno != 0 && errno != unix.EINTR { // the runtime's own signals end a wait with a timeout
			t.Fatal(errno)
		}
	}
	var used wire.TCP
	for deadline := Now() + int64(30*time.Second); used.RwndLimited == 0 && Now() < deadline; {
		used = g.Read().TCP.Since(before.TCP)
	}
	if used.SegmentsOut < 1 || used.Busy < used.RwndLimited+used.SndbufLimited || used.RwndLimited == 0 {
		t.Errorf("%+v", used)
	}
	other := NewGauge(far)
	defer other.Close()
	if r := other.Read(); r.TCP.Busy != 0 {
		t.Errorf("the end that sends nothing was busy: %+v", r.TCP)
	}
}

// BenchmarkGauge measures the cost of an edge; a run has two per thread. The share of a core is
// that of both edges in a window of 50 ms.
func BenchmarkGauge(b *testing.B) {
	conn, _ := connected(b)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, tc := range []struct {
		name string
		read func() func()
	}{
		{"clock", func() func() { return func() { CPU() } }},
		{"clock-and-wait", func() func() { g := NewGauge(-1); b.Cleanup(g.Close); return func() { g.Read() } }},
		{"clock-wait-and-TCP", func() func() { g := NewGauge(conn); b.Cleanup(g.Close); return func() { g.Read() } }},
	} {
		b.Run(tc.name, func(b *testing.B) {
			runtime.LockOSThread() // a benchmark has a goroutine of its own
			defer runtime.UnlockOSThread()
			read := tc.read()
			begin := CPU()
			for b.Loop() {
				read()
			}
			cpu := float64(CPU()-begin) / float64(b.N)
			b.ReportMetric(cpu, "cpu-ns/edge")
			b.ReportMetric(100*2*cpu/50e6, "%core/50ms")
		})
	}
}
