package engine

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
)

func decoded(t *testing.T, name, hist string) *hdrhistogram.Histogram {
	t.Helper()
	h, err := hdrhistogram.Decode([]byte(hist))
	if err != nil {
		t.Fatalf("%s %q: %v", name, hist, err)
	}
	return h
}

// wholeSplit checks that a response time was taken apart.
func wholeSplit(t *testing.T, r rrResult) {
	t.Helper()
	if strings.HasPrefix(r.Stamps, "none") || r.Stamped == 0 {
		t.Fatalf("stamps %q of %d requests", r.Stamps, r.Stamped)
	}
	n := r.Stamped - r.Incomplete - r.Impossible
	if n < 1 || n < r.Stamped/2 {
		t.Errorf("of %d stamped requests %d are incomplete and %d impossible", r.Stamped, r.Incomplete, r.Impossible)
	}
	sum := 0.0
	for name, hist := range map[string]string{"path": r.PathHist, "wake": r.WakeHist, "app": r.AppHist} {
		h := decoded(t, name, hist)
		if h.TotalCount() != n || h.Min() < 1 {
			t.Errorf("%s: %d requests from %d ns on, want %d", name, h.TotalCount(), h.Min(), n)
		}
		sum += h.Mean()
	}
	if whole := decoded(t, "stamped", r.StampedHist).Mean(); sum < 0.99*whole || sum > 1.01*whole {
		t.Errorf("the parts take %.0f ns together, the whole %.0f", sum, whole)
	}
}

func TestLatencyWorkloads(t *testing.T) {
	for _, loopback := range loopbacks {
		for _, args := range []string{
			"tcp-rr", "tcp-rr --inflight 8", "tcp-rr --size 1", "tcp-rr --size 1000000", "tcp-rr --stamp-every 0",
			"udp-rr", "udp-rr --inflight 8", "udp-rr --size 16", "udp-rr --size 20000", "udp-rr --stamp-every 1ns",
			"udp-open", "udp-open --rate 20000 --size 16",
		} {
			t.Run(loopback+" "+args, func(t *testing.T) {
				addr, _ := serve(t, loopback)
				f := strings.Fields(args)
				r := openResult{}
				r.Inflight = 1
				lines, err := run(t, short(f[0], addr, f[1:]...)...)
				if err != nil {
					t.Fatal(err)
				}
				if err := strictJSON([]byte(lines[2]), &r); err != nil {
					t.Fatal(err)
				}
				if h := decoded(t, "rtt", r.Hist); h.TotalCount() != r.Transactions || r.Transactions < 1 || r.Requests != r.Transactions+r.Lost {
					t.Errorf("histogram of %d; %d requests, %d answered, %d lost", h.TotalCount(), r.Requests, r.Transactions, r.Lost)
				}
				switch args {
				case "tcp-rr --inflight 8", "tcp-rr --size 1000000", "tcp-rr --stamp-every 0":
					if !strings.HasPrefix(r.Stamps, "none: ") || r.PathHist != "" || r.Stamped != 0 {
						t.Errorf("stamps %q of %d requests", r.Stamps, r.Stamped)
					}
				default:
					wholeSplit(t, r.rrResult)
				}
				if f[0] == "udp-open" && (r.Offered != int64(r.Rate*0.03) || r.Requests > r.Offered || r.LateSends < r.Offered-r.Requests || r.Inflight != 0) {
					t.Errorf("%+v", r)
				}
			})
		}
	}
}

func TestSpin(t *testing.T) {
	var cpus unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cpus); err != nil {
		t.Fatal(err)
	}
	for _, loopback := range loopbacks {
		for _, workload := range []string{"tcp-rr", "udp-rr", "udp-open"} {
			t.Run(loopback+" "+workload, func(t *testing.T) {
				addr, _ := serve(t, loopback)
				if cpus.Count() == 1 {
					if _, err := run(t, short(workload, addr, "--spin")...); err == nil || !strings.Contains(err.Error(), "one for each") {
						t.Errorf("two ends spin on one CPU: %v", err)
					}
					return
				}
				var r openResult
				measure(t, &r, short(workload, addr, "--spin")...)
				wholeSplit(t, r.rrResult)
				if r.Wait != "spinning" || r.CPU == nil || r.FarCPU == nil || *r.CPU == *r.FarCPU {
					t.Errorf("%s on CPUs %v and %v", r.Wait, r.CPU, r.FarCPU)
				}
				// The server goes back to where it was.
				measure(t, new(udpStreamResult), short("udp-stream", addr, "--rate", "1e6")...)
			})
		}
	}
}

func TestSettle(t *testing.T) {
	err := <-onThread(func() error {
		var before, one, after unix.CPUSet
		unix.SchedGetaffinity(0, &before)
		for _, last := range []bool{false, true} {
			p, restore, err := settle(last)
			if err != nil {
				return err
			}
			unix.SchedGetaffinity(0, &one)
			restore()
			unix.SchedGetaffinity(0, &after)
			if one.Count() != 1 || !one.IsSet(p.CPU) || after != before {
				return fmt.Errorf("settled on %v of %v, afterwards %v", one, before, after)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, tc := range []struct {
		a, b place
		ok   bool
	}{
		{place{"x", 0}, place{"x", 0}, false},
		{place{"x", 0}, place{"x", 1}, true},
		{place{"x", 0}, place{"y", 0}, true},
		{place{"", 0}, place{"", 0}, true}, // not known to be one machine
	} {
		if err := apart(tc.a, tc.b); (err == nil) != tc.ok {
			t.Errorf("%v and %v: %v", tc.a, tc.b, err)
		}
	}
}

// A fakeServer answers hellos, and requests as answer says: how often.
func fakeServer(t *testing.T, answer func(seq uint64) int) string {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		b := make([]byte, 1<<16)
		for {
			n, from, err := c.ReadFromUDPAddrPort(b)
			if err != nil {
				return // closed
			}
			h, ok := parseHeader(b[:n])
			times := 1
			switch {
			case !ok:
				continue
			case h.kind == kindHello:
				j, _ := json.Marshal(accepted{Weir: version})
				n = headerSize + copy(b[headerSize:], j)
			case h.kind == kindStamps:
				n = len(new(samples).encode(b[:headerSize], 0, farMost))
			default:
				times = answer(h.seq)
			}
			b[2] |= byte(kindAnswer)
			for range times {
				c.WriteToUDPAddrPort(b[:n], from)
			}
		}
	}()
	return c.LocalAddr().String()
}

func TestLostAndLate(t *testing.T) {
	addr := fakeServer(t, func(seq uint64) int {
		switch seq {
		case 5, 11:
			return 0
		case 3, 8:
			return 2
		}
		return 1
	})
	for _, args := range [][]string{{"udp-rr", "--inflight", "4"}, {"udp-open", "--rate", "5000"}} {
		var r openResult
		measure(t, &r, append([]string{"run", args[0], addr, "--duration", "50ms"}, args[1:]...)...)
		if r.Lost < 2 || r.Late < 2 || r.Transactions < 1 || r.Requests != r.Transactions+r.Lost {
			t.Errorf("%v: %d requests, %d answered, %d lost, %d late", args, r.Requests, r.Transactions, r.Lost, r.Late)
		}
		if !strings.HasPrefix(r.Stamps, "none: no stamped request") || r.Incomplete != r.Stamped {
			t.Errorf("%v: stamps %q, %d of %d incomplete", args, r.Stamps, r.Incomplete, r.Stamped)
		}
	}
}

// A server that is away for 100 ms delays all requests of that time. A closed loop
// would tell of one.
func TestNoCoordinatedOmission(t *testing.T) {
	addr := fakeServer(t, func(seq uint64) int {
		if seq == 100 {
			time.Sleep(100 * time.Millisecond)
		}
		return 1
	})
	var r openResult
	measure(t, &r, "run", "udp-open", addr, "--rate", "1000", "--duration", "300ms")
	slow := int64(0)
	for _, b := range decoded(t, "rtt", r.Hist).Distribution() {
		if b.From > stallBound {
			slow += b.Count
		}
	}
	if r.Stalls < 1 || slow < 40 { // some 50 of the 100 requests waited for more than 50 ms
		t.Errorf("%d stalls, %d of %d responses above 50 ms", r.Stalls, slow, r.Transactions)
	}
}

// A rate that no thread can keep is told by late requests, not by fewer.
func TestOpenTooFast(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	var r openResult
	measure(t, &r, short("udp-open", addr, "--rate", "1e6")...)
	if r.Offered != 30000 || r.LateSends < 1 || r.LateSends > r.Offered || r.Requests > r.Offered {
		t.Errorf("%d of %d requests were sent, %d late", r.Requests, r.Offered, r.LateSends)
	}
}

func TestConnectRequestResponse(t *testing.T) {
	for _, loopback := range loopbacks {
		for _, size := range []string{"16", "100000"} {
			t.Run(loopback+" "+size, func(t *testing.T) {
				addr, _ := serve(t, loopback)
				var r crrResult
				measure(t, &r, short("tcp-crr", addr, "--size", size, "--duration", "100ms")...)
				h, connect := decoded(t, "rtt", r.Hist), decoded(t, "connect", r.ConnectHist)
				if h.TotalCount() != r.Transactions || connect.TotalCount() != r.Transactions || r.Transactions < 1 || r.Lost != 0 {
					t.Errorf("histograms of %d and %d, %d answered", h.TotalCount(), connect.TotalCount(), r.Transactions)
				}
				if connect.Mean() >= h.Mean() || r.Ports != crrPorts {
					t.Errorf("connecting took %.0f of %.0f ns, %d ports", connect.Mean(), h.Mean(), r.Ports)
				}
				_, port, _ := net.SplitHostPort(addr)
				server, client := timeWait(t, port)
				// The client's is the connection that held the run; a few more are of
				// older clients that had this port.
				if server > crrPorts+10 || client > 10 {
					t.Errorf("%d sockets in TIME-WAIT at the server, %d at the client", server, client)
				}
			})
		}
	}
}

// timeWait counts sockets in TIME-WAIT by the end that a port is at.
func timeWait(t *testing.T, port string) (own, remote int) {
	t.Helper()
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // a kernel without IPv6
		}
		var n int
		fmt.Sscan(port, &n)
		hex := fmt.Sprintf(":%04X", n)
		for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
			f := strings.Fields(s.Text())
			switch {
			case len(f) < 4 || f[3] != "06": // TCP_TIME_WAIT, include/net/tcp_states.h
			case strings.HasSuffix(f[1], hex):
				own++
			case strings.HasSuffix(f[2], hex):
				remote++
			}
		}
	}
	return own, remote
}

// While short connections are served others are too, and strange ones do no harm.
func TestShortConnections(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	server, err := parseServer("test", addr)
	if err != nil {
		t.Fatal(err)
	}
	c := config{server: server, timeout: 5 * time.Second, params: params{Weir: version, Workload: "tcp-crr", Run: 7, Streams: 1, Size: 20, Duration: time.Second}}
	held, err := dialTCP(t.Context(), c, new(stopper))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(held.fd)
	request := make([]byte, 20)
	ask := func(what string, b []byte) (answer []byte) {
		t.Helper()
		conn, err := dialOnce(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(conn.fd)
		if _, errno := send(conn.fd, b); errno != 0 {
			t.Fatalf("%s: %v", what, errno)
		}
		unix.Shutdown(conn.fd, unix.SHUT_WR)
		answer = make([]byte, maxLine)
		deadline := now() + int64(5*time.Second)
		for n := range answer {
			if err := readFull(conn.fd, answer[n:n+1], deadline, new(stopper)); err != nil {
				if errors.Is(err, errSilent) {
					t.Errorf("%s: %v", what, err)
				}
				return answer[:n]
			}
		}
		return answer
	}
	header{kind: kindConnect, run: 7, seq: 1}.put(request)
	if got, ok := parseHeader(ask("a request", request)); !ok || got.kind != kindConnect|kindAnswer || got.seq != 1 {
		t.Errorf("a request was answered with %+v", got)
	}
	header{kind: kindConnect, run: 8, seq: 1}.put(request)
	for what, b := range map[string][]byte{"another run": request, "half a request": request[:18]} {
		if got := ask(what, b); len(got) != 0 {
			t.Errorf("%s was answered with %q", what, got)
		}
	}
	if got := ask("garbage", []byte("GET / HTTP/1.1\r\n\r\n")); !strings.Contains(string(got), "error") {
		t.Errorf("garbage was answered with %q", got)
	}
	measure(t, new(rrResult), short("tcp-rr", addr)...)
}
