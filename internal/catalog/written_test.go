package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/engine"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
)

// edges are values at which a parameter can turn into another one, or into its default.
var edges = []string{"0", "-1", "1", "2", "15", "16", "64", "128", "129", "1000", "1024", "1025", "65507", "65508", "1048576", "1048577", "16777216", "16777217",
	strconv.Itoa(math.MaxInt64), "9223372036854775808", "NaN", "Inf", `""`, "0s", "-1s", "1ns", "100us", "1ms", "1h", "2h", "0bit", "7bit", "1kbit", "1gbit", "1e13", "2e13", "unlimited", "0%", "100%", "x"}

var number = regexp.MustCompile(`[0-9][0-9.]*`)

// Every option of every probe is in the command lines as it was written, or refused before anything runs. That
// includes weir engine itself: it refuses no command line of a probe.
func TestProbeOptionsAsWritten(t *testing.T) {
	w := probe.Window{Server: netip.MustParseAddrPort("127.77.88.99:1"), MTU: 1500, Duration: 3 * time.Second, Warmup: 5 * time.Second, Client: netip.MustParseAddr("127.77.88.98")}
	tried := 0
	for _, name := range Names(Probes) {
		plain, err := FindProbe(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range strictyaml.Keys(plain) {
			for _, v := range edges {
				s := study.Study{Probes: []study.Use{{Kind: name, Name: name, Options: map[string]string{key: v}}}}
				pr, err := (&Prepared{study: s}).Probe(name, nil)
				if err != nil {
					continue
				}
				tried++
				_, argv := pr.Commands(w)
				if argv[0] == "weir" && argv[1] == "engine" {
					ctx, cancel := context.WithCancel(t.Context())
					cancel()
					if err := engine.Main(ctx, append(argv[2:len(argv):len(argv)], "--json"), nil, io.Discard); errors.Is(err, engine.ErrUsage) && key != "packets" { // the path decides these
						t.Errorf("%s with %s %s: planned, and then refused: %v", name, key, v, err)
					}
				}
				server, _ := pr.Commands(w)
				if all := strings.Join(slices.Concat(server, argv), " "); !says(all, key, v) && !implied(name, key) {
					t.Errorf("%s with %s %s runs %s", name, key, v, all)
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d accepted options: the test looks in the wrong place", tried)
	}
}

// implied options choose what runs instead of being a number or word of a command line.
func implied(name, key string) bool {
	return key == "packets" || name == "mpi" && (key == "tool" || key == "program")
}

// says reports whether a command line contains an option's value, in any unit.
func says(all, key, v string) bool {
	if v == "true" || v == "false" {
		return true
	}
	if key == "rate" && v == "unlimited" {
		return !strings.Contains(all, "--rate") || strings.Contains(all, "--rate 0")
	}
	if key == "cc" || key == "program" {
		return strings.Contains(all, v)
	}
	want, err := strconv.ParseFloat(v, 64)
	units := []float64{1}
	if d, bad := time.ParseDuration(v); err != nil && bad == nil {
		want, err, units = float64(d), nil, []float64{1, 1e3, 1e6, 1e9, 3600e9}
	}
	var r probe.Bitrate
	if key == "rate" && r.UnmarshalText([]byte(v)) == nil {
		want, err, units = float64(r), nil, []float64{1, 1e3}
	}
	if err != nil {
		return strings.Contains(all, strings.TrimSuffix(v, "%"))
	}
	for _, word := range strings.FieldsFunc(all, func(c rune) bool { return c == ' ' || c == ',' }) {
		if n, err := strconv.ParseFloat(word, 64); err == nil && slices.ContainsFunc(units, func(u float64) bool { return n*u == want }) {
			return true
		}
		for _, digits := range number.FindAllString(word, -1) {
			n, err := strconv.ParseFloat(strings.Trim(digits, "."), 64)
			if err == nil && slices.ContainsFunc(units, func(u float64) bool { return n*u == want }) {
				return true
			}
		}
	}
	return false
}

// An option of a network that is accepted at 0 or empty is the network's own default there, or changes its plan.
func TestNetworkOptionsAsWritten(t *testing.T) {
	for _, name := range Names(Networks) {
		n, err := FindNetwork(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range strictyaml.Keys(n.New()) {
			for _, v := range []string{"0", "-1", "0s", strconv.Itoa(math.MaxInt64)} {
				d, err := n.Driver(study.Use{Kind: name, Name: name, Options: map[string]string{key: v}})
				if err != nil {
					continue
				}
				topology, err := topo.New(n.Spec(d, topo.Spec{}))
				if err != nil {
					continue
				}
				topology.Exists = n.Model == Found
				if _, err := network.Build(d, topology); err != nil {
					continue
				}
				if v != "0" && v != "0s" && key != "dev" { // a name
					t.Errorf("%s: %s: %s is accepted", name, key, v)
				}
				if fresh := fmt.Sprintf("%+v", n.New()); fmt.Sprintf("%+v", d) != fresh && key != "delay" { // no delay is the default
					// 0 differs from the default, so the plan must.
					before, _ := network.Build(n.New(), topology)
					after, _ := network.Build(d, topology)
					var a, b strings.Builder
					if before.Encode(&a) != nil || after.Encode(&b) != nil || a.String() == b.String() {
						t.Errorf("%s: %s: %s is accepted and changes nothing", name, key, v)
					}
				}
			}
		}
	}
}

// A level of a condition is what the topology gets, or refused.
func TestConditionsAsWritten(t *testing.T) {
	base, err := topo.New(topo.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]func(topo.Topology) any{
		"mtu":    func(t topo.Topology) any { return t.MTU },
		"link":   func(t topo.Topology) any { return t.Rate },
		"delay":  func(t topo.Topology) any { return t.Distance.Delay },
		"jitter": func(t topo.Topology) any { return t.Distance.Jitter },
		"loss":   func(t topo.Topology) any { return t.Distance.Loss },
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		for _, v := range append(slices.Clone(edges), "none", "575", "576", "65535", "65536", "999bit", "1tbit", "1001gbit", "1s", "1001ms", "99%") {
			changed, err := condition.Apply(name, v, base)
			if err != nil {
				continue
			}
			d, _ := time.ParseDuration(v)
			rate, _ := condition.ParseLink(v)
			is, share := fmt.Sprint(got[name](changed)), strings.TrimSuffix(v, "%")
			percent, _ := strconv.ParseFloat(share, 64)
			if !slices.Contains([]string{v, d.String(), fmt.Sprint(rate), fmt.Sprint(percent / 100)}, is) || v == "none" && name != "link" {
				t.Errorf("%s %s is %s", name, v, is)
			}
		}
	}
	for _, link := range []string{"0bit", "1bit", "7bit", "NaN", ""} {
		s := study.Default()
		s.Topology.Link = link
		if _, err := spec(s, topo.Kernel{}); link != "" && err == nil {
			t.Errorf("underlay link %q is accepted", link)
		}
	}
}
