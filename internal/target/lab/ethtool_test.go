package lab

import (
	"errors"
	"maps"
	"runtime/debug"
	"testing"

	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/target/local"
)

// deep calls f with n more frames on the stack.
func deep(n int, f func()) byte {
	var frame [256]byte
	if n == 0 {
		f()
	} else {
		frame[n%len(frame)] = deep(n-1, f)
	}
	return frame[0]
}

// The runtime moves stacks when they grow, and shrinks them during a collection. Neither changes
// what is read.
func TestFeaturesOnMovingStacks(t *testing.T) {
	nstest.Need(t)
	want, err := features("lo")
	if err != nil || !want["tx-tcp-segmentation"] || want["tls-hw-tx-offload"] || len(want) < 32 {
		t.Fatalf("lo has features %v, %v", want, err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	wrong := make(chan bool)
	for i := range 4000 {
		go deep(i%300, func() {
			got, err := features("lo")
			wrong <- err != nil || !maps.Equal(got, want)
		})
		if <-wrong {
			t.Fatalf("wrong features at depth %d", i%300)
		}
	}
}

func features(dev string) (map[string]bool, error) {
	e, err := local.OpenEthtool()
	if err != nil {
		return nil, err
	}
	defer e.Close()
	return e.Features(dev)
}

func TestChangeFeatures(t *testing.T) {
	nstest.Need(t)
	var e *local.Ethtool
	err := netns.Create(1, func(_ int, ns *netns.Namespace) (err error) {
		e, err = local.OpenEthtool()
		return errors.Join(err, ns.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	before, err := e.Features("lo")
	if err != nil {
		t.Fatal(err)
	}
	for _, on := range []bool{false, true} {
		change := map[string]bool{"tx-tcp-segmentation": on, "tx-tcp-mangleid-segmentation": on, "rx-gro": on}
		if err := e.Change("lo", change); err != nil {
			t.Fatal(err)
		}
		want := maps.Clone(before)
		maps.Copy(want, change)
		got, err := e.Features("lo")
		if err != nil {
			t.Fatal(err)
		}
		for name, is := range got {
			if is != want[name] {
				t.Errorf("switched to %v: %s is %v", on, name, is)
			}
		}
	}
	if err := e.Change("lo", map[string]bool{"no-such-feature": true}); err == nil {
		t.Error("an unknown feature was switched")
	}
	if _, err := e.Features("none0"); err == nil {
		t.Error("a device that is not there has features")
	}
}
