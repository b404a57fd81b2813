package network

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weir-bench/weir/internal/topo"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// drivers holds every driver of this package, with its usual options.
var drivers = map[string]Driver{
	"bridge":        Bridge{},
	"host":          Host{},
	"macvlan":       Macvlan{},
	"routed":        Routed{},
	"vxlan":         VXLAN{VNI: DefaultVNI, Port: DefaultVXLANPort},
	"vxlan-overlay": VXLANOverlay{VNI: DefaultVNI, Port: DefaultVXLANPort},
}

var specs = map[string]topo.Spec{
	"1host":         {Hosts: 1},
	"1host-2pods":   {Hosts: 1, Pods: 2},
	"2hosts":        {Hosts: 2},
	"2hosts-2pods":  {Hosts: 2, Pods: 2},
	"3hosts":        {Hosts: 3},
	"ipv6-pods":     {Hosts: 2, PodsIPv6: true},
	"ipv6-underlay": {Hosts: 2, IPv6: true},
	"ipv6":          {Hosts: 2, IPv6: true, PodsIPv6: true},
	"mtu-low":       {Hosts: 2, MTU: 576},
	"mtu-low-ipv6":  {Hosts: 2, MTU: 1280, PodsIPv6: true},
}

func topology(t *testing.T, s topo.Spec) topo.Topology {
	t.Helper()
	tp, err := topo.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return tp
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (go test ./internal/network -update writes it)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%swant\n%s", file, got, want)
	}
}

// Every driver has a golden plan for every topology; an error is golden, too.
func TestPlanGolden(t *testing.T) {
	for _, d := range slices.Sorted(maps.Keys(drivers)) {
		for _, s := range slices.Sorted(maps.Keys(specs)) {
			t.Run(d+"/"+s, func(t *testing.T) {
				var got bytes.Buffer
				p, err := drivers[d].Plan(topology(t, specs[s]))
				if err != nil {
					got.WriteString("error: " + err.Error() + "\n")
				} else if err := p.Encode(&got); err != nil {
					t.Fatal(err)
				}
				golden(t, d+"."+s, got.Bytes())
			})
		}
	}
}
