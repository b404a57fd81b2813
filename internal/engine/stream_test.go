package engine

import (
	"bufio"
	"context"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

func TestUDPStream(t *testing.T) {
	for _, loopback := range loopbacks {
		for _, flags := range []string{
			"--rate 8e6 --size 1000",
			"--size 16 --rcvbuf 4096",
			"--size 65507",
			"--send mmsg --recv single --nap 0 --dscp 10",
			"--send mmsg --recv mmsg --batch 7 --size 500",
			"--send mmsg --rate 8e6 --size 1000",
			"--send gso --recv single",
			"--send gso --recv mmsg --nap 1ms",
			"--send gso --recv gro --nap 0",
			"--send gso --size 18",
			"--send gso --size 18 --rcvbuf 4096",
			"--send gso --rate 8e6 --size 1000 --batch 4",
			"--send single --recv gro",
		} {
			t.Run(loopback+" "+flags, func(t *testing.T) {
				addr, _ := serve(t, loopback)
				r := measureUntil(t, func(r event.UDPStream) bool { return r.Delivered > 0 },
					short("udp-stream", addr, strings.Fields(flags)...)...)
				checkLadder(t, r)
				if strings.Contains(flags, "--rate 8e6") && r.Offered%30 != 0 { // 1000 datagrams/s for 30 ms, or longer
					t.Errorf("offered %d, want 30", r.Offered)
				}
				if gro := r.Recv == event.RecvGRO && r.Send == event.SendGSO; !gro && r.Buffers != r.Delivered+r.Duplicates {
					t.Errorf("%d buffers held %d datagrams", r.Buffers, r.Delivered)
				} else if gro && r.Buffers*2 > r.Delivered {
					t.Errorf("%d buffers held %d datagrams: they did not stay together", r.Buffers, r.Delivered)
				}
			})
		}
	}
}

// The result of a search follows from its phases.
func TestUDPSearch(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, loopback := range loopbacks {
		for _, flags := range []string{"", "--loss 0 --size 1400 --width 10%", "--send gso", "--send mmsg --recv single --nap 0 --phase 5ms", "--loss 0,1%,5%"} {
			t.Run(loopback+" "+flags, func(t *testing.T) {
				addr, _ := serve(t, loopback)
				var r event.UDPSearch
				measure(t, &r, append([]string{"run", "udp-search", addr, "--duration", "200ms"}, strings.Fields(flags)...)...)
				var losses []float64
				for _, g := range r.Goals {
					losses = append(losses, g.Loss)
				}
				s := tally.NewGoals(losses, r.Width, tally.Slowest(r.Width, time.Duration(r.Length*1e9)))
				for i, p := range r.Phases {
					if rate, done := s.Next(); done || rate != p.Asked {
						t.Fatalf("phase %d is at %g packet/s, next %g, done %v", i, p.Asked, rate, done)
					}
					if p.Offered < p.Tried() || p.Sent < p.Delivered+p.Dropped || p.Delivered < 0 || p.Dropped < 0 || p.Window < r.Length || p.Queue < 0 {
						t.Errorf("%+v", p)
					}
					s.Add(p)
				}
				_, done := s.Next()
				_, first := s[0].Next()
				if goals := s.Found(r.Length); len(r.Phases) == 0 || r.Found != s[0].Found(first) || first != (r.Limit != event.LimitTime) ||
					!slices.Equal(r.Goals, goals) || done && slices.ContainsFunc(goals, func(g event.Goal) bool { return g.Limit == event.LimitTime }) {
					t.Errorf("%+v does not follow from its phases: %+v", r, goals)
				}
				if r.SndBuf <= 0 || r.RcvBuf <= 0 || r.Send == "" || r.Recv == "" || r.Batch < 1 {
					t.Errorf("%+v", r)
				}
			})
		}
	}
}

func checkLadder(t *testing.T, r event.UDPStream) {
	t.Helper()
	if r.Offered < r.Sent || r.Sent < r.Received || r.Received < r.Delivered || r.Delivered < 1 {
		t.Errorf("ladder %d %d %d %d", r.Offered, r.Sent, r.Received, r.Delivered)
	}
	if r.Received-r.Delivered != r.Dropped || r.Bytes != r.Delivered*int64(r.Size) || r.Duplicates != 0 || r.Reordered != 0 {
		t.Errorf("%+v", r)
	}
	if r.Reads < 1 || r.Reads > r.Buffers || r.Buffers > r.Delivered {
		t.Errorf("%d datagrams in %d buffers in %d reads", r.Delivered, r.Buffers, r.Reads)
	}
	if r.Silence <= 0 || r.Silence > max(r.Window, r.Span) {
		t.Errorf("a silence of %g s in %g s, arrivals over %g s", r.Silence, r.Window, r.Span)
	}
	if r.Window < 0.03 || r.Jitter < 0 || r.Span < 0 || r.RcvBuf <= 0 || r.SndBuf <= 0 {
		t.Errorf("%+v", r)
	}
}

func TestUDPStreamDefaults(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	for _, tc := range []struct {
		flags string
		want  event.UDPStream
	}{
		{"", event.UDPStream{Send: event.SendSingle, Batch: 1, Recv: event.RecvMmsg, Nap: 50e-6}},
		{"--rate 1e7", event.UDPStream{Send: event.SendSingle, Batch: 1, Recv: event.RecvMmsg}},
		{"--nap 0", event.UDPStream{Send: event.SendSingle, Batch: 1, Recv: event.RecvMmsg}},
		{"--send mmsg", event.UDPStream{Send: event.SendMmsg, Batch: 32, Recv: event.RecvMmsg, Nap: 50e-6}},
		{"--send gso", event.UDPStream{Send: event.SendGSO, Batch: 46, Recv: event.RecvGRO, Nap: 200e-6}},
		{"--send gso --rcvbuf 200000 --nap 20us", event.UDPStream{Send: event.SendGSO, Batch: 46, Recv: event.RecvGRO, Nap: 20e-6}},
		{"--send gso --rcvbuf 100000", event.UDPStream{Send: event.SendGSO, Batch: 46, Recv: event.RecvGRO, Nap: 10e-6}}, // half of it is bookkeeping
		{"--send gso --size 100 --dscp 63", event.UDPStream{Send: event.SendGSO, Batch: 64, Recv: event.RecvGRO, Nap: 200e-6, DSCP: 63}},
	} {
		var r event.UDPStream
		measure(t, &r, short("udp-stream", addr, strings.Fields(tc.flags)...)...)
		tc.want.Nap = min(tc.want.Nap, time.Duration(r.RcvBuf/20).Seconds()) // this machine may grant a smaller buffer
		if got := (event.UDPStream{Send: r.Send, Batch: r.Batch, Recv: r.Recv, Nap: r.Nap, DSCP: r.DSCP}); !equalPath(got, tc.want) {
			t.Errorf("%q: %+v, want %+v", tc.flags, got, tc.want)
		}
	}
}

func equalPath(a, b event.UDPStream) bool {
	return a.Send == b.Send && a.Batch == b.Batch && a.Recv == b.Recv && a.Nap == b.Nap && a.DSCP == b.DSCP
}

// gso refuses a datagram too large for the path and says why; the other modes fragment it.
func TestGSORefuses(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	c := testConfig(t, addr)
	c.Size, c.Send, c.Batch, c.Recv = 1400, event.SendGSO, 2, event.RecvGRO
	u, err := meet(t.Context(), c, new(sock.Stopper))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(u.fd)
	path, err := sock.NewPath(u.fd, c.Run, c.Mode())
	if err != nil {
		t.Fatal(err)
	}
	over, err := sock.NewPath(u.fd, c.Run, event.Mode{Size: 1400, Send: event.SendGSO, Batch: 200})
	if err != nil {
		t.Fatal(err)
	}
	_, _, errno := over.Send(wire.KindMeasure, 0, 129, sock.Now()) // more than any kernel takes
	c.Batch = 129
	if err := sock.ExplainSend(c.Mode(), errno); errno == 0 || !strings.Contains(err.Error(), "UDP_MAX_SEGMENTS") && !strings.Contains(err.Error(), "fit") {
		t.Errorf("129 datagrams: %v, want an explanation", err)
	}
	if sent, tried, errno := path.Send(wire.KindMeasure, 0, 2, sock.Now()); sent != 2 || tried != 2 || errno != 0 {
		t.Errorf("two datagrams: sent %d, tried %d, %v", sent, tried, errno)
	}
	for errno, want := range map[unix.Errno]string{unix.EINVAL: "", unix.EMSGSIZE: "does not fragment", unix.EIO: "checksums", unix.EPERM: "not permitted"} {
		if err := sock.ExplainSend(c.Mode(), errno); !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), errno.Error()) {
			t.Errorf("%v is explained by %v, want %q", errno, err, want)
		}
	}
	if s := sock.Lacks(unix.ENOPROTOOPT, "X of Linux 4.18", "do without"); s != ": this kernel lacks X of Linux 4.18; do without" || sock.Lacks(unix.EPERM, "X", "") != "" {
		t.Errorf("a kernel without an option: %q", s)
	}
}

// Stopping the world, as for a collection, does not wait for a stream to end.
func TestHotLoopsStop(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, flags := range []string{"udp-stream --send single --size 16", "udp-stream --nap 0 --recv single", "udp-stream --send gso", "udp-stream --streams 4", "tcp-stream --cc reno", "tcp-stream --cc reno --zerocopy"} {
		addr, _ := serve(t, loopbacks[0])
		ctx, cancel := context.WithCancel(t.Context())
		r, w := io.Pipe()
		done := make(chan error, 1)
		go func() {
			fields := strings.Fields(flags)
			done <- order(ctx, w, append([]string{"run", fields[0], addr, "--duration", "1h"}, fields[1:]...)...)
			w.Close()
		}()
		lines := bufio.NewScanner(r)
		if !lines.Scan() || lines.Text() != event.MarkBegin {
			t.Fatalf("%s printed %q, not that it began", flags, lines.Text())
		}
		for range 3 {
			runtime.GC() // if this does not return, the test runs into its time limit
		}
		cancel()
		go io.Copy(io.Discard, r)
		if err := <-done; err == nil {
			t.Errorf("%s: an hour passed", flags)
		}
	}
}

func TestStayOn(t *testing.T) {
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	var all []int
	for cpu := range maxCPU {
		if before.IsSet(cpu) {
			all = append(all, cpu)
		}
	}
	defer func() {
		if err := sock.StayOn(all); err != nil {
			t.Error(err)
		}
	}()
	last := all[len(all)-1]
	if err := sock.StayOn([]int{last}); err != nil {
		t.Fatal(err)
	}
	if err := <-sock.OnThread(func() error { // on an old thread or a new one
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(0, &set); err != nil {
			return err
		}
		if set.Count() != 1 || !set.IsSet(last) {
			t.Errorf("%d CPUs, want CPU %d alone", set.Count(), last)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if err := sock.StayOn([]int{maxCPU}); err == nil || !strings.Contains(err.Error(), "1023") {
		t.Errorf("a CPU that is not there: %v", err)
	}
}

// The packets carry the code point, not only the socket option.
func TestDSCPArrives(t *testing.T) {
	for _, loopback := range loopbacks {
		t.Run(loopback, func(t *testing.T) {
			needFamily(t, loopback)
			at, err := parseServer("test", loopback)
			if err != nil {
				t.Fatal(err)
			}
			v6 := at.Addr().Is6()
			fd, to := listening(t, at)
			level, opt, kind := unix.IPPROTO_IP, unix.IP_RECVTOS, unix.IP_TOS
			if v6 {
				level, opt, kind = unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS, unix.IPV6_TCLASS
			}
			if err := unix.SetsockoptInt(fd, level, opt, 1); err != nil {
				t.Fatal(err)
			}
			from, _, err := sock.DialUDP(to, 0, askEvery)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(from)
			if got, err := sock.SetDSCP(from, v6, 46); err != nil || got != 46 {
				t.Fatalf("DSCP %d in effect, %v", got, err)
			}
			if _, errno := sock.Send(from, []byte("x")); errno != 0 {
				t.Fatal(errno)
			}
			control := make([]byte, 64)
			_, n, _, _, err := unix.Recvmsg(fd, make([]byte, 1), control, 0)
			if err != nil {
				t.Fatal(err)
			}
			ms, err := unix.ParseSocketControlMessage(control[:n])
			if err != nil || len(ms) != 1 || int(ms[0].Header.Type) != kind || ms[0].Data[0] != 46<<2 {
				t.Errorf("control messages %+v, %v: want a byte of %#x", ms, err, 46<<2)
			}
		})
	}
}
