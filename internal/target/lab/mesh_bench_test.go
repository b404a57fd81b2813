package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"

	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/topo"
)

// BenchmarkMesh builds and removes hosts that are joined by a full mesh of VXLAN,
// every one knowing every other: n·(n−1) forwarding entries. The kernel removes
// namespaces in its own time, in the order in which they were closed; removal ends
// when it has come to one that was closed last.
//
//	go test ./internal/target/lab -run '^$' -bench Mesh -benchtime 1x
func BenchmarkMesh(b *testing.B) {
	nstest.Need(b)
	for _, hosts := range []int{100, 1000} {
		b.Run(fmt.Sprint(hosts), func(b *testing.B) {
			t, err := topo.New(topo.Spec{Hosts: hosts})
			if err != nil {
				b.Fatal(err)
			}
			p, err := network.Build(&network.VXLAN{VNI: 1, Port: 4789}, t)
			if err != nil {
				b.Fatal(err)
			}
			var built, removed time.Duration
			for b.Loop() {
				start := time.Now()
				s, err := Open(context.Background(), network.Places(t), "")
				if err == nil {
					err = s.Apply(context.Background(), p.Steps)
				}
				if err != nil {
					b.Fatal(err)
				}
				built += time.Since(start)
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
			b.ReportMetric(0, "ns/op")
		})
	}
}

const mark = "mark0"

// marked returns a place that shows when the kernel removes it: by the end of a
// veth pair that is here.
func marked(b *testing.B) *place {
	b.Helper()
	ns, err := netns.New()
	if err != nil {
		b.Fatal(err)
	}
	p, err := newPlace("mark", ns)
	if err != nil {
		b.Fatal(err)
	}
	here, err := vnetns.Get()
	if err != nil {
		b.Fatal(err)
	}
	defer here.Close()
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "far0"
	if err := p.nl.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: mark, PeerNamespace: netlink.NsFd(here)}); err != nil {
		b.Fatal(err)
	}
	return p
}

func exists(dev string) bool {
	_, err := net.InterfaceByName(dev)
	return err == nil
}
