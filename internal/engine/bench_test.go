package engine

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// BenchmarkUDP sends b.N datagrams over loopback to a server in this process; compare delivered/s.
// Loopback has no device that cuts a buffer, so gso shows the cost of the two ends without a path.
func BenchmarkUDP(b *testing.B) {
	nap, gro := event.Mode{}.DefaultNap(), event.Mode{Recv: event.RecvGRO}.DefaultNap()
	for _, size := range []int{18, 1400} {
		for _, way := range []wire.Params{
			{Send: event.SendSingle, Batch: 1, Recv: event.RecvSingle},
			{Send: event.SendSingle, Batch: 1, Recv: event.RecvSingle, Nap: nap},
			{Send: event.SendSingle, Batch: 1, Recv: event.RecvMmsg, Nap: nap},
			{Send: event.SendMmsg, Batch: event.DefaultMmsg, Recv: event.RecvMmsg, Nap: nap},
			{Send: event.SendGSO, Batch: min(event.DefaultGSO, event.MaxDatagram/size), Recv: event.RecvSingle, Nap: nap},
			{Send: event.SendGSO, Batch: min(event.DefaultGSO, event.MaxDatagram/size), Recv: event.RecvGRO, Nap: gro},
		} {
			name := "single"
			if way.Nap == 0 {
				name = "single-waiting"
			}
			if way.Recv != event.RecvSingle {
				name = way.Recv
			}
			b.Run(way.Send+"-"+name+"-"+map[int]string{18: "18", 1400: "1400"}[size], func(b *testing.B) { benchUDP(b, size, way) })
		}
	}
}

func benchUDP(b *testing.B, size int, way wire.Params) {
	keepProcs(b)
	addr, _ := serve(b, loopbacks[0])
	c := testConfig(b, addr)
	c.Size, c.Send, c.Batch, c.Recv, c.Nap = size, way.Send, way.Batch, way.Recv, way.Nap
	u, err := meet(b.Context(), c, new(sock.Stopper))
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Close(u.fd)
	path, err := sock.NewPath(u.fd, c.Run, c.Mode())
	if err != nil {
		b.Fatal(err)
	}
	if err := u.ask(b.Context(), wire.KindBegin, nil, nil); err != nil {
		b.Fatal(err)
	}
	sock.RoomFor(1)
	b.SetBytes(int64(size))
	b.ResetTimer()
	tried := 0
	err = <-sock.OnThread(func() error {
		for tried < b.N {
			_, n, errno := path.Send(wire.KindMeasure, uint64(tried), min(way.Batch, b.N-tried), sock.Now())
			if tried += n; errno != 0 && errno != unix.ENOBUFS {
				return errno
			}
		}
		return nil
	})
	b.StopTimer()
	var r wire.UDPReport
	if err == nil {
		err = u.ask(b.Context(), wire.KindReport, nil, &r)
	}
	if err != nil {
		b.Fatal(err)
	}
	t := max(b.Elapsed().Seconds(), seconds(r.Span))
	b.ReportMetric(float64(r.Delivered)/t, "delivered/s")
	b.ReportMetric(1-float64(r.Delivered)/float64(tried), "loss")
}

// keepProcs undoes sock.RoomFor once all servers have ended.
func keepProcs(b *testing.B) {
	before := runtime.GOMAXPROCS(0)
	b.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

func BenchmarkTCP(b *testing.B) {
	for _, tc := range []struct {
		name                        string
		zerocopy, sendfile, discard bool
	}{{"copy", false, false, false}, {"discard", false, false, true}, {"zerocopy", true, false, false}, {"sendfile", false, true, false}} {
		b.Run(tc.name, func(b *testing.B) {
			keepProcs(b)
			addr, _ := serve(b, loopbacks[0])
			c := testConfig(b, addr)
			c.Workload, c.Size, c.Discard, c.Duration = "tcp-stream", event.DefaultWrite(0), tc.discard, time.Hour
			t, err := dialTCP(b.Context(), c, new(sock.Stopper))
			if err != nil {
				b.Fatal(err)
			}
			defer unix.Close(t.fd)
			if tc.zerocopy {
				if t.zero, err = sock.NewZerocopy(t.fd); err != nil {
					b.Fatal(err)
				}
			}
			if tc.sendfile {
				if t.file, err = sock.NewFile(c.Size); err != nil {
					b.Fatal(err)
				}
				defer t.file.Close()
			}
			sock.RoomFor(1)
			buf := make([]byte, c.Size)
			b.SetBytes(int64(c.Size))
			b.ResetTimer()
			err = <-sock.OnThread(func() error {
				for sent := 0; sent < b.N*c.Size; {
					n, errno := t.send(buf)
					if errno != 0 && !sock.Again(errno) {
						return errno
					}
					sent += max(n, 0)
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
