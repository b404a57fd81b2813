package condition

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func topology(t testing.TB, s topo.Spec) topo.Topology {
	t.Helper()
	tp, err := topo.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return tp
}

func TestApply(t *testing.T) {
	base := topology(t, topo.Spec{})
	for _, c := range []struct {
		name, level string
		want        func(*topo.Topology)
	}{
		{"mtu", "9000", func(t *topo.Topology) { t.MTU = 9000 }},
		{"link", "1gbit", func(t *topo.Topology) { t.Rate = 1e9 }},
		{"link", "none", func(t *topo.Topology) { t.Rate = 0 }},
		{"nic", "full", func(t *topo.Topology) { t.NIC = topo.NICFull }},
		{"nic", "tso", func(t *topo.Topology) { t.NIC = topo.NICTSO }},
		{"nic", "none", func(t *topo.Topology) { t.NIC = topo.NICNone }},
		{"offload", "off", func(t *topo.Topology) { t.NoOffload = true }},
		{"offload", "on", func(t *topo.Topology) { t.NoOffload = false }},
		{"delay", "500us", func(t *topo.Topology) { t.Distance.Delay, t.Far = 500*time.Microsecond, true }},
		{"jitter", "50us", func(t *topo.Topology) { t.Distance.Jitter, t.Far = 50*time.Microsecond, true }},
		{"loss", "0.1%", func(t *topo.Topology) { t.Distance.Loss, t.Far = 0.001, true }},
		{"gro", "on", func(t *topo.Topology) { t.GRO = topo.GROOn }},
		{"gro", "off", func(t *topo.Topology) { t.GRO = topo.GROOff }},
		{"bridge-nf", "on", func(t *topo.Topology) { t.BridgeNF = topo.BridgeNFOn }},
		{"bridge-nf", "off", func(t *topo.Topology) { t.BridgeNF = topo.BridgeNFOff }},
		{"rps", "off", func(t *topo.Topology) { t.RPS = topo.RPSOff }},
		{"rps", "on", func(t *topo.Topology) { t.RPS = topo.RPSAll }},
		{"rps", "f0", func(t *topo.Topology) { t.RPS = "f0" }},
	} {
		// Start from neither the default nor the level.
		from := base
		from.Rate, from.NIC, from.NoOffload, from.RPS = 5e6, "other", c.level == "on", "1"
		want := from
		c.want(&want)
		got, err := Apply(c.name, c.level, from)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s=%s: got %+v, %v, want %+v", c.name, c.level, got, err, want)
		}
	}
}

// A condition builds if one of its levels changes the topology, or the steps that build it.
func TestBuilds(t *testing.T) {
	levels := map[string]string{"bridge-nf": "on", "clients": "2", "delay": "1ms", "ends": "pod-host", "gro": "on", "jitter": "1ms", "link": "1gbit", "load": "tcp-rr", "loss": "1%",
		"mtu": "9000", "nic": "none", "offload": "off", "rps": "on", "stress": "50%"}
	base := topology(t, topo.Spec{})
	for _, name := range Names() {
		got, err := Apply(name, levels[name], base)
		if err != nil {
			t.Fatal(err)
		}
		if changes := !reflect.DeepEqual(got, base); Builds(name) != changes {
			t.Errorf("%s: builds is %v, and it changes the topology: %v", name, Builds(name), changes)
		}
	}
	if Builds("size") {
		t.Error("an option of a probe builds")
	}
}

func TestApplyErrors(t *testing.T) {
	for _, c := range []struct {
		name, level string
		spec        topo.Spec
		want        string
	}{
		{"speed", "1", topo.Spec{}, `condition "speed" is unknown (known: bridge-nf, clients, delay, ends, event, gro, jitter, link, load, loss, mtu, nic, offload, rps, stress)`},
		{"mtu", "575", topo.Spec{}, `condition mtu: invalid MTU "575": want 576 to 65535 bytes`},
		{"mtu", "1279", topo.Spec{PodsIPv6: true}, `condition mtu: invalid MTU "1279": want 1280 to 65535 bytes`},
		{"mtu", "1279", topo.Spec{IPv6: true}, `condition mtu: invalid MTU "1279": want 1280 to 65535 bytes`},
		{"mtu", "65536", topo.Spec{}, `condition mtu: invalid MTU "65536": want 576 to 65535 bytes`},
		{"mtu", "", topo.Spec{}, `condition mtu: invalid MTU "": want 576 to 65535 bytes`},
		{"link", "0", topo.Spec{}, `condition link: 0 is outside 1 kbit/s to 1 Tbit/s; a link without a limit is "none"`},
		{"link", "2tbit", topo.Spec{}, `condition link: 2tbit is outside 1 kbit/s to 1 Tbit/s; a link without a limit is "none"`},
		{"link", "fast", topo.Spec{}, `a link without a limit is "none"`},
		{"nic", "", topo.Spec{}, `condition nic: invalid NIC "": want full, tso or none`},
		{"stress", "half", topo.Spec{}, `condition stress: invalid level "half": want 0, a share such as 50%, or split-50%, up to 100%`},
		{"stress", "101%", topo.Spec{}, `condition stress: invalid level "101%": want 0`},
		{"stress", "split-", topo.Spec{}, `condition stress: invalid level "split-": want 0`},
		{"stress", "25", topo.Spec{}, `condition stress: invalid level "25": want 0`},
		{"stress", "0.5%", topo.Spec{}, `condition stress: "0.5%" is less than 1%`},
		{"load", "", topo.Spec{}, `condition load: "" names no probe: want idle, NAME or NAME@50%`},
		{"load", "@50%", topo.Spec{}, `condition load: "@50%" names no probe`},
		{"load", "tcp-stream@", topo.Spec{}, `condition load: "tcp-stream@": the share after @ is outside 1%..100%`},
		{"load", "tcp-stream@0%", topo.Spec{}, `the share after @ is outside 1%..100%`},
		{"load", "tcp-stream@200%", topo.Spec{}, `the share after @ is outside 1%..100%`},
		{"load", "idle@50%@2", topo.Spec{}, `the share after @ is outside 1%..100%`},
		{"clients", "0", topo.Spec{}, `condition clients: invalid number of clients "0": want 1 to 1000`},
		{"clients", "1001", topo.Spec{}, `condition clients: invalid number of clients "1001": want 1 to 1000`},
		{"clients", "two", topo.Spec{}, `condition clients: invalid number of clients "two"`},
		{"ends", "pod", topo.Spec{}, `condition ends: invalid pair of ends "pod": write FROM-TO, such as pod-host`},
		{"offload", "maybe", topo.Spec{}, `condition offload: level "maybe" is unknown (known: off, on)`},
		{"gro", "full", topo.Spec{}, `condition gro: level "full" is unknown (known: off, on)`},
		{"delay", "-1", topo.Spec{}, `condition delay: invalid duration "-1": write it as 500us or 5ms`},
		{"delay", "-1ms", topo.Spec{}, `condition delay: invalid delay -1ms: want whole microseconds from 0s to 1s`},
		{"delay", "500ns", topo.Spec{}, `condition delay: invalid delay 500ns: want whole microseconds`},
		{"delay", "2s", topo.Spec{}, `invalid delay 2s: want whole microseconds from 0s to 1s`},
		{"jitter", "much", topo.Spec{}, `condition jitter: invalid duration "much"`},
		{"loss", "101%", topo.Spec{}, `condition loss: invalid loss 101 %: want 0 % or more, and less than 100 %`},
		{"loss", "-1%", topo.Spec{}, `condition loss: share "-1%": negative; at least 0`},
		{"bridge-nf", "", topo.Spec{}, `condition bridge-nf: level "" is unknown (known: off, on)`},
		{"rps", "yes", topo.Spec{}, `condition rps: invalid level "yes": want off, on, or a mask of CPUs in hexadecimal, such as 3 for the first two`},
		{"rps", "0", topo.Spec{}, `condition rps: invalid level "0": want off, on,`},
		{"rps", "0x3", topo.Spec{}, `condition rps: invalid level "0x3"`},
		{"rps", "F", topo.Spec{}, `condition rps: invalid level "F"`},
		{"rps", "-1", topo.Spec{}, `condition rps: invalid level "-1"`},
		{"rps", "1" + strings.Repeat("0", 2048), topo.Spec{}, `names CPU 8192: the last possible one is 8191`},
	} {
		got, err := Apply(c.name, c.level, topology(t, c.spec))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%q: %+v, error %v, want %q", c.name, c.level, got, err, c.want)
		}
	}
}

// A level gives a topology within bounds, or an error.
func FuzzApply(f *testing.F) {
	for _, level := range []string{"1500", "1gbit", "none", "full", "tso", "on", "off", "-1", "1e999", "NaN", "split-50%", "tcp-stream@50%", "idle"} {
		f.Add(level)
	}
	base := topology(f, topo.Spec{})
	f.Fuzz(func(t *testing.T, level string) {
		for _, name := range Names() {
			got, err := Apply(name, level, base)
			if err != nil {
				continue
			}
			if got.MTU < topo.MinMTU || got.MTU > topo.MaxMTU {
				t.Errorf("%s=%q: MTU %d", name, level, got.MTU)
			}
			if r := got.Rate; r != 0 && !(r >= minRate && r <= maxRate) {
				t.Errorf("%s=%q: rate %g", name, level, r)
			}
			if _, err := network.Build(network.Host{}, got); err != nil {
				t.Errorf("%s=%q: %v", name, level, err)
			}
		}
	})
}

// No step changes rps in a network that exists: its levels have networks of their own, and Change starts
// from them.
func TestAtBuild(t *testing.T) {
	levels := map[string]string{"rps": "on", "mtu": "9000", "size": "64"}
	if at := AtBuild(levels); !maps.Equal(at, map[string]string{"rps": "on"}) {
		t.Errorf("%v", at)
	}
	if at := AtBuild(nil); len(at) > 0 {
		t.Errorf("%v", at)
	}
	base := topology(t, topo.Spec{})
	c, err := Change(drivers()["vxlan-overlay"], base, map[string]string{"rps": "on"})
	if err != nil || len(c.Do)+len(c.Undo) > 0 || c.Topology.RPS != topo.RPSAll || c.Plan.Steps[0].Sysctl.Key != plan.DefaultRPS {
		t.Errorf("%v, %v, %v: %v", c.Do, c.Undo, c.Topology.RPS, err)
	}
	if c, err = Change(drivers()["vxlan-overlay"], base, map[string]string{"rps": "on", "mtu": "9000"}); err != nil || len(c.Do) == 0 || c.Do[0].Set == nil {
		t.Errorf("with an MTU: %v, %v", c.Do, err)
	}
	base.Exists = true
	if _, err = Change(drivers()["vxlan-overlay"], base, map[string]string{"rps": "on"}); !errors.Is(err, plan.ErrRebuild) {
		t.Errorf("on hosts that exist: %v", err)
	}
}

func drivers() map[string]network.Driver {
	return map[string]network.Driver{
		"bridge":        network.Bridge{},
		"host":          network.Host{},
		"macvlan":       network.Macvlan{},
		"routed":        network.Routed{},
		"vxlan":         network.VXLAN{VNI: 1, Port: 4789},
		"vxlan-overlay": network.VXLANOverlay{VNI: 1, Port: 4789},
	}
}

func TestChangeGolden(t *testing.T) {
	for name, levels := range map[string]map[string]string{
		"mtu":      {"mtu": "9000"},
		"link-mtu": {"link": "100mbit", "mtu": "9000"},
		"nic":      {"nic": "tso"},
		"offload":  {"offload": "off"},
		"gro":      {"gro": "on"},
		"gro-off":  {"gro": "off", "offload": "off"},
		"nothing":  {"mtu": "1500", "link": "none", "nic": "full", "offload": "on", "bridge-nf": "off"},
		"bridge":   {"bridge-nf": "on"},
		"mtu-low":  {"mtu": "600"},
		"far":      {"delay": "500us", "jitter": "50us", "loss": "0.1%"},
		"far-link": {"delay": "5ms", "link": "1gbit"},
		"far-not":  {"delay": "0", "jitter": "1ms"},
		"near":     {"delay": "500us"},
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			c, err := Change(drivers()["vxlan-overlay"], topology(t, topo.Spec{Far: strings.HasPrefix(name, "far")}), levels)
			if err != nil {
				fmt.Fprintln(&got, "error:", err)
			}
			for _, s := range c.Do {
				fmt.Fprintln(&got, "do", s)
			}
			for _, s := range c.Undo {
				fmt.Fprintln(&got, "undo", s)
			}
			file := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v (go test ./internal/condition -update writes it)", err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("got\n%swant\n%s", got.Bytes(), want)
			}
		})
	}
}
