package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// BenchmarkMesh builds and removes hosts joined by a full mesh of VXLAN tunnels:
// every host knows every other, which takes n·(n−1) forwarding entries.
//
//	go test ./internal/target/lab -run '^$' -bench 'Mesh|Routed' -benchtime 1x
func BenchmarkMesh(b *testing.B) {
	building(b, &network.VXLAN{VNI: 1, Port: 4789}, 10, 30, 100, 250, 1000)
}

// BenchmarkRouted builds and removes hosts with routes to all others' pods: n·(n−1) routes.
func BenchmarkRouted(b *testing.B) {
	building(b, &network.Routed{}, 10, 30, 100, 250)
}

// building reports, per network of so many hosts:
//
//	s/build, s/remove     wall time. The kernel removes namespaces in its own time,
//	                      in the order they were closed; removal ends when the
//	                      kernel has removed one that was closed last.
//	cpu-s/build           user and system time of this process while it builds
//	MiB-rss               peak resident memory of this process, the plan included
//	MiB-kernel            memory that the network holds in the kernel: slabs and
//	                      per-CPU data of the whole machine, so other work on the
//	                      machine disturbs it
func building(b *testing.B, d network.Driver, hosts ...int) {
	nstest.Need(b)
	for _, n := range hosts {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			t, err := topo.New(topo.Spec{Hosts: n})
			if err != nil {
				b.Fatal(err)
			}
			debug.FreeOSMemory()                                  // of earlier benchmarks
			os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // resets the peak (proc(5))
			p, err := network.Build(d, t)
			if err != nil {
				b.Fatal(err)
			}
			var built, removed, cpu time.Duration
			kernel := 0.0
			for b.Loop() {
				start, used, held := time.Now(), cpuTime(b), kernelMiB(b)
				s, err := Open(context.Background(), network.Places(t), "")
				if err == nil {
					err = s.Apply(context.Background(), p.Steps)
				}
				if err != nil {
					b.Fatal(err)
				}
				built += time.Since(start)
				cpu += cpuTime(b) - used
				kernel += kernelMiB(b) - held
				last := marked(b)
				start = time.Now()
				if err := errors.Join(s.Close(), last.close()); err != nil {
					b.Fatal(err)
				}
				for exists(mark) {
					time.Sleep(time.Millisecond)
				}
				removed += time.Since(start)
			}
			b.ReportMetric(built.Seconds()/float64(b.N), "s/build")
			b.ReportMetric(removed.Seconds()/float64(b.N), "s/remove")
			b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/build")
			b.ReportMetric(kernel/float64(b.N), "MiB-kernel")
			b.ReportMetric(kiB(b, "/proc/self/status", "VmHWM")/1024, "MiB-rss")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func kernelMiB(b *testing.B) float64 {
	return (kiB(b, "/proc/meminfo", "Slab") + kiB(b, "/proc/meminfo", "Percpu")) / 1024
}

func kiB(b *testing.B, file, name string) float64 {
	text, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	m := regexp.MustCompile(name + `:\s*(\d+) kB`).FindSubmatch(text)
	if m == nil {
		b.Fatalf("%s has no %s", file, name)
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

const mark = "mark0"

// marked returns a place whose removal by the kernel shows as the end of a veth pair here.
func marked(b *testing.B) *lab {
	b.Helper()
	l := &lab{places: map[string]*place{}}
	for name, make := range map[string]func() (*netns.Namespace, error){"far": newNamespace, "here": netns.Current} {
		ns, err := make()
		if err == nil {
			err = ns.Do(func() (err error) {
				l.places[name], err = newPlace(name, ns)
				return err
			})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	err := l.apply(b.Context(), []plan.Step{{In: "far", Link: &plan.Link{Name: "far0", Kind: "veth", Peer: mark, PeerIn: "here"}}})
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func exists(dev string) bool {
	_, err := net.InterfaceByName(dev)
	return err == nil
}

func newNamespace() (ns *netns.Namespace, err error) {
	err = netns.Create(1, func(_ int, made *netns.Namespace) error {
		ns = made
		return nil
	})
	return ns, err
}
