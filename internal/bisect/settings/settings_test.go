package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/bisect/group"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/study"
)

// load reads a study with one network and what its path had.
func load(t *testing.T, network, more string) study.Study {
	t.Helper()
	s, err := study.Load([]byte("networks: [host, "+network+"]\nprobes: [tcp-stream]\n"+more), "x.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func path(sysctl map[string]string, d evidence.Device) *evidence.Settings {
	place := func() evidence.Node {
		return evidence.Node{Sysctl: sysctl, Devices: map[string]evidence.Device{"eth0": d}}
	}
	return &evidence.Settings{Places: map[string]evidence.Node{"h1": place(), "h2": place()}}
}

func described(d Differences) (settings, unapplied []string) {
	for _, s := range d.Settings {
		settings = append(settings, fmt.Sprintf("%s: %s → %s", s, s.Before, s.After))
	}
	for _, u := range d.Unapplied {
		unapplied = append(unapplied, fmt.Sprintf("%s: %s → %s", u.Key, u.Before, u.After))
	}
	return settings, unapplied
}

// compare compares two runs of the network vxlan-overlay.
func compare(t *testing.T, a, b Run) (Differences, study.Use) {
	t.Helper()
	d, common, err := Compare(a, b, "vxlan-overlay")
	if err != nil {
		t.Fatal(err)
	}
	return d, common
}

func TestStepsOfStudies(t *testing.T) {
	a := Run{Study: load(t, `{use: vxlan-overlay, vni: 7, also: [{in: h1, set: {dev: eth0, mtu: 1400}}, {in: h1p1, sysctl: {key: net.ipv4.tcp_ecn, value: 1}}]}`, "")}
	b := Run{Study: load(t, `{use: vxlan-overlay, port: 8472, also: [
  {in: h1p1, sysctl: {key: net.ipv4.tcp_ecn, value: 0}}, {in: h2p1, sysctl: {key: net.ipv4.tcp_sack, value: 0}}, {in: h1p1, sysctl: {key: net.ipv4.tcp_sack, value: 0}},
  {in: h1, set: {dev: eth0, mtu: 1400}}, {in: h1, exec: {argv: [nft, add table ip t]}}, {in: h1, exec: {argv: [nft, "add chain ip t c"]}},
  {in: h2, exec: {argv: [tc, qdisc, replace, dev, eth0, root, pfifo]}}, {in: h2, offload: {dev: eth0, features: {rx-gro: true, tx-gso-list: false}}}]}`, "")}
	d, common := compare(t, a, b)
	settings, unapplied := described(d)
	want := []string{
		"eth0 qdisc (h2):  → tc qdisc replace dev eth0 root pfifo",
		"eth0 rx-gro (h2):  → on",
		"eth0 tx-gso-list (h2):  → off",
		"net.ipv4.tcp_ecn (h1p1): 1 → 0",
		"net.ipv4.tcp_sack (h2p1, h1p1):  → 0",
		"nft (h1):  → nft add table ip t; nft add chain ip t c",
		"option port:  → 8472",
		"option vni: 7 → ",
	}
	if !slices.Equal(settings, want) || unapplied != nil {
		t.Errorf("settings\n%s\nwant\n%s\nnot applied: %v", strings.Join(settings, "\n"), strings.Join(want, "\n"), unapplied)
	}
	// All with AFTER's values is AFTER's network, but for the order of steps that do not depend on each other.
	all, none := d.Variant(common, group.All(len(d.Settings))), d.Variant(common, group.None(len(d.Settings)))
	for _, c := range []struct {
		got study.Use
		of  study.Study
	}{{all, b.Study}, {none, a.Study}} {
		want, _ := c.of.Network("vxlan-overlay")
		x, _, err := stepsOf(c.got)
		y, _, err2 := stepsOf(want)
		if err != nil || err2 != nil || !reflect.DeepEqual(x, y) || c.got.Options["vni"] != want.Options["vni"] || c.got.Options["port"] != want.Options["port"] {
			t.Errorf("got %v, want %v (%v, %v)", c.got.Options, want.Options, err, err2)
		}
	}
}

// What only one study sets has in the other run the value that held there.
func TestRecall(t *testing.T) {
	a := Run{Study: load(t, "vxlan-overlay", ""), Path: path(map[string]string{"net.ipv4.tcp_rmem": "4096\t1\t2"}, evidence.Device{Features: map[string]bool{"rx-gro": true}})}
	b := Run{Study: load(t, `{use: vxlan-overlay, also: [{in: h1, sysctl: {key: net.ipv4.tcp_rmem, value: 1 1 1}}, {in: h2, offload: {dev: eth0, features: {rx-gro: false}}}, {in: h1p1, sysctl: {key: net.ipv4.tcp_sack, value: 0}}]}`, "")}
	for _, c := range []struct {
		a, b Run
		want []string
	}{
		{a, b, []string{"eth0 rx-gro (h2): on → off", "net.ipv4.tcp_rmem (h1): 4096 1 2 → 1 1 1", "net.ipv4.tcp_sack (h1p1):  → 0"}},
		{b, a, []string{"eth0 rx-gro (h2): off → on", "net.ipv4.tcp_rmem (h1): 1 1 1 → 4096 1 2", "net.ipv4.tcp_sack (h1p1): 0 → "}},
	} {
		d, _ := compare(t, c.a, c.b)
		if settings, _ := described(d); !slices.Equal(settings, c.want) {
			t.Errorf("settings %q, want %q", settings, c.want)
		}
	}
}

// A run on machines is bisected in the lab.
func TestStudyOfMachines(t *testing.T) {
	s, err := study.Load([]byte("networks: [host]\nprobes: [tcp-stream]\ntarget: {ssh: [a, b]}\n"), "x.yaml")
	if err != nil {
		t.Fatal(err)
	}
	host, _ := s.Network("host")
	out, _, err := Defaults(facts.Facts{Settings: map[string]facts.Setting{"net.ipv4.tcp_ecn": {Value: "1", Default: "2"}}}, []string{"h1"}).Study(s, host, Cell{Network: "host", Probe: "tcp-stream"},
		group.Step{Stage: group.Change, Comparisons: []group.Comparison{{From: group.None(1), To: group.All(1)}}})
	if err != nil || out.Target.Exists() {
		t.Errorf("target %v, %v", out.Target, err)
	}
}

func TestConditionsOfStudies(t *testing.T) {
	a := Run{Study: load(t, "vxlan-overlay", "underlay: {mtu: 1500}\nfactors: {gro: [\"on\"]}\n")}
	b := Run{Study: load(t, "{use: vxlan-overlay, under: {rps: \"on\"}}", "underlay: {mtu: 9000, link: 1gbit}\nfactors: {nic: [tso]}\n")}
	a.Path, b.Path = path(nil, evidence.Device{MTU: 1500, Qdisc: "noqueue"}), path(nil, evidence.Device{MTU: 9000, Qdisc: "tbf", Limit: 1e9})
	d, common := compare(t, a, b)
	settings, unapplied := described(d)
	want := []string{"gro: on → ", "link:  → 1gbit", "mtu: 1500 → 9000", "nic:  → tso", "rps:  → on"}
	if !slices.Equal(settings, want) || unapplied != nil {
		t.Errorf("settings %q, want %q; not applied: %q", settings, want, unapplied)
	}
	under, err := d.Variant(common, []bool{false, true, true, false, false}).Under()
	if err != nil || !reflect.DeepEqual(under, map[string]string{"gro": "on", "link": "1gbit", "mtu": "9000"}) {
		t.Errorf("under %v, %v", under, err)
	}
	s, _, err := d.Study(a.Study, common, Cell{"vxlan-overlay", "tcp-stream", map[string]string{"gro": "on"}}, group.Step{Stage: group.Change, Comparisons: []group.Comparison{{From: group.None(5), To: group.All(5)}}})
	if err != nil || s.Factors["gro"] != nil {
		t.Errorf("a factor that is a setting stays one of the study: %v, %v", s.Factors, err)
	}
}

func TestPath(t *testing.T) {
	a, b := Run{Study: load(t, "vxlan-overlay", "")}, Run{Study: load(t, "vxlan-overlay", "")}
	a.Path = path(map[string]string{"net.ipv4.tcp_rmem": "4096 131072 6291456", "net.core.rmem_max": "1", "net.ipv4.ip_forward": "1"},
		evidence.Device{MTU: 1500, Qdisc: "noqueue", Features: map[string]bool{"rx-gro": true, "tx-new": true}, GSOMax: 1})
	b.Path = path(map[string]string{"net.ipv4.tcp_rmem": "4096\t131072\t33554432", "net.core.rmem_max": "2", "net.ipv4.tcp_new": "5", "net.ipv4.ip_forward": "1"},
		evidence.Device{MTU: 1400, Qdisc: "fq", Features: map[string]bool{"rx-gro": false}, GSOMax: 2, RPS: []string{"3"}})
	one, two := 1, 2
	p, q := a.Path.Places["h1"], b.Path.Places["h1"]
	p.Rules, q.Rules = &one, &two
	a.Path.Places["h1"], b.Path.Places["h1"] = p, q
	d, _ := compare(t, a, b)
	settings, unapplied := described(d)
	want := []string{"eth0 mtu (h1, h2): 1500 → 1400", "eth0 qdisc (h1, h2): noqueue → fq", "eth0 rx-gro (h1, h2): on → off", "net.ipv4.tcp_rmem (h1, h2): 4096 131072 6291456 → 4096 131072 33554432"}
	if !slices.Equal(settings, want) {
		t.Errorf("settings %q, want %q", settings, want)
	}
	for _, key := range []string{"h1.sysctl.net.core.rmem_max: 1 → 2", "h1.rules: 1 → 2", "h1 eth0.gsoMax: 1 → 2", "h2 eth0.rps:  → 3", "h1 eth0.tx-new: on → ", "h1.sysctl.net.ipv4.tcp_new:  → 5"} {
		if !slices.Contains(unapplied, "paths.vxlan-overlay "+key) {
			t.Errorf("%s is not among %q", key, unapplied)
		}
	}
}

// Every fact of the machines that differs keeps a reason.
func TestFacts(t *testing.T) {
	run := func(host string) Run {
		return Run{Study: load(t, "vxlan-overlay", ""), Conditions: map[string][]byte{"local": []byte(host)}}
	}
	a := run(`{"kernel":"6.12.1","cpu":"a","weir":"1","settings":{},"mitigations":{"x":"y"},"new":1}`)
	b := run(`{"kernel":"6.18.1","cpu":"b","weir":"2","settings":{"net.core.rmem_max":{"value":"1","default":"2"},"net.ipv4.tcp_ecn":{"value":"1","default":"2"}},"mitigations":{"x":"z"},"new":2}`)
	d, _ := compare(t, a, b)
	if len(d.Settings) > 0 || len(d.Unapplied) != len(facts.Differ([]map[string][]byte{a.Conditions, b.Conditions})) || len(d.Unapplied) != 7 {
		t.Errorf("settings %v, not applied %v", d.Settings, d.Unapplied)
	}
	for _, u := range d.Unapplied {
		if u.Reason == "" {
			t.Errorf("%s has no reason", u.Key)
		}
	}
	if d, _ := compare(t, a, a); !d.None() {
		t.Errorf("a run differs from itself: %v", d)
	}
}

func TestDefaults(t *testing.T) {
	d := Defaults(facts.Facts{Settings: map[string]facts.Setting{
		"net.ipv4.tcp_congestion_control": {Value: "bbr", Default: "cubic"}, "net.ipv4.tcp_ecn": {Value: "1", Default: "2"}, "net.core.rmem_max": {Value: "1", Default: "2 or 3"}, "net.core.rps_default_mask": {Value: "3", Default: "0"}, "transparent_hugepage": {Value: "madvise", Default: "always"},
	}}, []string{"h1", "h1p1"})
	settings, unapplied := described(d)
	if !slices.Equal(settings, []string{"net.ipv4.tcp_congestion_control: cubic → bbr", "net.ipv4.tcp_ecn (h1, h1p1): 2 → 1"}) || len(unapplied) != 3 || len(d.Settings[1].Steps(true)) != 2 {
		t.Errorf("settings %q, not applied %q", settings, unapplied)
	}
	for _, u := range d.Unapplied {
		file := strings.Contains(u.Reason.String(), "/sys/kernel/mm/transparent_hugepage/enabled")
		if strings.Contains(u.Reason.String(), "sysctl") == file || file != (u.Key == "transparent_hugepage") {
			t.Errorf("%s: %s", u.Key, u.Reason)
		}
	}
}

// The congestion control is that of sockets: a factor of the probe, whose levels differ between the cells that are compared.
func TestCongestionControl(t *testing.T) {
	a, b := Run{Study: load(t, "vxlan-overlay", "factors: {cc: [cubic]}\n")}, Run{Study: load(t, "{use: vxlan-overlay, vni: 8}", "factors: {cc: [bbr]}\n")}
	d, common := compare(t, a, b)
	if settings, unapplied := described(d); !slices.Equal(settings, []string{"net.ipv4.tcp_congestion_control: cubic → bbr", "option vni:  → 8"}) || unapplied != nil {
		t.Errorf("settings %q, not applied %q", settings, unapplied)
	}
	step := group.Step{Stage: group.Halves, Comparisons: []group.Comparison{{From: group.Only(2, 0), To: group.Only(2, 1)}}}
	s, _, err := d.Study(a.Study, common, Cell{"vxlan-overlay", "tcp-stream", map[string]string{"cc": "cubic"}}, step)
	if err != nil || len(s.Compare) != 1 || s.Compare[0].String() != "{of: {cc: cubic, network: group}, to: {cc: bbr, network: others}}" {
		t.Errorf("%v %v", s.Compare, err)
	}
}

// The kernel switches a segmentation off with what it needs: they are one setting, and what follows from a study's is none.
func TestFeaturesThatDepend(t *testing.T) {
	features := func(on bool, more ...string) evidence.Device {
		d := evidence.Device{Features: map[string]bool{"rx-gro": on, "tx-tcp-segmentation": on, "tx-tcp-mangleid-segmentation": on, "tx-udp-segmentation": on}}
		for _, f := range more {
			d.Features[f] = on
		}
		return d
	}
	for _, c := range []struct {
		network string
		more    []string
		want    []string
	}{
		{"vxlan-overlay", nil, []string{"eth0 rx-gro", "eth0 tx-tcp-mangleid-segmentation, tx-tcp-segmentation", "eth0 tx-udp-segmentation"}},
		{"vxlan-overlay", []string{"tx-checksum-ip-generic"}, []string{"eth0 rx-gro", "eth0 tx-checksum-ip-generic, tx-tcp-mangleid-segmentation, tx-tcp-segmentation, tx-udp-segmentation"}},
		{"{use: vxlan-overlay, also: [{in: h1, offload: {dev: eth0, features: {tx-tcp-segmentation: false}}}, {in: h2, offload: {dev: eth0, features: {tx-tcp-segmentation: false}}}]}", nil, []string{"eth0 rx-gro", "eth0 tx-tcp-segmentation"}},
	} {
		a, b := Run{Study: load(t, "vxlan-overlay", ""), Path: path(nil, features(true, c.more...))}, Run{Study: load(t, c.network, ""), Path: path(nil, features(false, c.more...))}
		d, _ := compare(t, a, b)
		var names []string
		for _, s := range d.Settings {
			names = append(names, s.Name)
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%s with %v: %q, want %q", c.network, c.more, names, c.want)
		}
	}
}

// Sets that are the same have one network, and comparisons that are the same one contrast.
func TestStudyOfOneSetting(t *testing.T) {
	a, b := Run{Study: load(t, "vxlan-overlay", "")}, Run{Study: load(t, "{use: vxlan-overlay, vni: 8}", "")}
	d, common := compare(t, a, b)
	step := group.Step{Stage: group.Confirm, Cause: group.Cause{Kind: group.One, Members: []int{0}}, Comparisons: []group.Comparison{{From: group.None(1), To: group.Only(1, 0)}, {From: group.Only(1, 0).Without(), To: group.All(1)}}}
	s, at, err := d.Study(a.Study, common, Cell{Network: "vxlan-overlay", Probe: "tcp-stream"}, step)
	if err != nil || !slices.Equal(at, []int{0, 0}) || !slices.Equal(study.Names(s.Networks), []string{"before", "after"}) {
		t.Errorf("%v %v %v", study.Names(s.Networks), at, err)
	}
	if _, _, err := d.Study(a.Study, common, Cell{Network: "vxlan-overlay", Probe: "ping"}, step); err == nil {
		t.Error("a probe that the study lacks passes")
	}
}
