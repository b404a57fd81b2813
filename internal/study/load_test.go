package study

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/topo"
)

const minimal = "networks: [host]\nprobes: [tcp-stream]\n"

func TestDefaults(t *testing.T) {
	s, err := Load([]byte(minimal), "studies/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := Study{
		Name: "small", Baseline: "host",
		Networks: []Use{{Name: "host", Kind: "host"}}, Probes: []Use{{Name: "tcp-stream", Kind: "tcp-stream"}},
		Blocks: 10, Warmup: 200 * time.Millisecond, Duration: time.Second,
		Fast:     Fast{Blocks: 8, Warmup: 20 * time.Millisecond, Duration: 100 * time.Millisecond},
		Topology: Topology{Hosts: 2, Pods: 1, MTU: 1500},
	}
	if got := withoutPos(s); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func withoutPos(s Study) Study {
	strip := func(uses []Use) []Use {
		var out []Use
		for _, u := range uses {
			out = append(out, Use{Name: u.Name, Kind: u.Kind, Options: u.Options})
		}
		return out
	}
	s.Networks, s.Probes, s.places = strip(s.Networks), strip(s.Probes), nil
	var compare []Contrast
	for _, c := range s.Compare {
		c.file, c.lines = "", nil
		compare = append(compare, c)
	}
	s.Compare = compare
	return s
}

const full = `# everything
name: all
question: What?
description: |
  Two
  lines.
networks:
  - host
  - host
  - use: vxlan-overlay
    vni: 7
  - {use: vxlan-overlay, name: vx-port, port: 8472, extra: {a: [1, "null", ~], "b:c": 1.10}}
probes: [tcp-stream, {use: udp-rr, size: 64}]
factors:
  mtu: [1500, 9000]
  offload: [on, off]
baseline: host#2
blocks: 7
precision: 2.5%
max-time: 90m
warmup: 0s
duration: 150ms
fast: {blocks: 6, duration: 50ms}
seed: 18446744073709551615
hosts: 3
pods: 2
pods-ipv6: true
underlay:
  mtu: 9000
  link: 1gbit
  nic: tso
  delay: 500us
  jitter: 50us
  loss: 0.1%
  ipv6: true
`

func TestEveryKey(t *testing.T) {
	s, err := Load([]byte(full), "full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := Study{
		Name: "all", Question: "What?", Description: "Two\nlines.\n",
		Networks: []Use{
			{Name: "host", Kind: "host"}, {Name: "host#2", Kind: "host"},
			{Name: "vxlan-overlay", Kind: "vxlan-overlay", Options: map[string]string{"vni": "7"}},
			{Name: "vx-port", Kind: "vxlan-overlay", Options: map[string]string{"port": "8472", "extra": `{a: [1, "null", null], "b:c": 1.10}`}},
		},
		Probes:   []Use{{Name: "tcp-stream", Kind: "tcp-stream"}, {Name: "udp-rr", Kind: "udp-rr", Options: map[string]string{"size": "64"}}},
		Factors:  map[string][]string{"mtu": {"1500", "9000"}, "offload": {"on", "off"}},
		Baseline: "host#2", Blocks: 7, Precision: 0.025, MaxTime: 90 * time.Minute,
		Duration: 150 * time.Millisecond, Fast: Fast{6, 20 * time.Millisecond, 50 * time.Millisecond}, Seed: 1<<64 - 1,
		Topology: Topology{Hosts: 3, Pods: 2, MTU: 9000, Link: "1gbit", NIC: topo.NICTSO, IPv6: true, PodsIPv6: true,
			Distance: topo.Distance{Delay: 500 * time.Microsecond, Jitter: 50 * time.Microsecond, Loss: 0.001}},
	}
	if got := withoutPos(s); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if p := s.Networks[2].Pos(); p != "full.yaml:10" {
		t.Errorf("position %s", p)
	}
	if u, ok := s.Network("vx-port"); !ok || u.Kind != "vxlan-overlay" {
		t.Errorf("Network: %v %v", u, ok)
	}
	if _, ok := s.Probe("vx-port"); ok {
		t.Error("a network is found among the probes")
	}
}

func TestLabels(t *testing.T) {
	for src, want := range map[string]string{
		"[host, host, host]":                                "host host#2 host#3",
		"[host, {use: host, name: host#2}, host]":           "host host#2 host#3",
		"[host, {use: host, name: host}]":                   "host#2 host",
		"[{use: bridge, name: br}, host]":                   "br host",
		"[{use: vxlan, vni: 1}, {use: vxlan, vni: 2}, ovs]": "vxlan vxlan#2 ovs",
	} {
		s, err := Load([]byte("networks: "+src+"\nprobes: [p]"), "f")
		if got := strings.Join(Names(s.Networks), " "); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", src, got, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	long := strings.Repeat("x", 65)
	for name, c := range map[string]struct{ src, want string }{
		"negative delay":    {"networks: [a]\nprobes: [a]\nunderlay: {delay: -1ms}", "f:3: underlay has an invalid delay -1ms: want whole microseconds from 0s to 1s"},
		"jitter above":      {"networks: [a]\nprobes: [a]\nunderlay: {delay: 1ms, jitter: 2ms}", "f:3: underlay has an invalid jitter 2ms with a delay of 1ms"},
		"all lost":          {"networks: [a]\nprobes: [a]\nunderlay: {loss: 101%}", "f:3: underlay has an invalid loss 101 %: want 0 % or more, and less than 100 %"},
		"nothing":           {"# a comment\n", "f: file is empty"},
		"no mapping":        {"- host\n", "f:1: a study must be a mapping"},
		"syntax":            {"networks: [host\nprobes: [p]\n", "f:2: ',' or ']' must be"},
		"unknown key":       {minimal + "block: 3\n", `f:3: a study has no key "block": did you mean "blocks"? (known: baseline, blocks,`},
		"swapped letters":   {"netwroks: [host]\nprobes: [p]\n", `f:1: a study has no key "netwroks": did you mean "networks"?`},
		"not close":         {minimal + "color: 3\n", `f:3: a study has no key "color" (known: `},
		"unknown below":     {minimal + "underlay:\n  mut: 3\n", `f:4: underlay has no key "mut": did you mean "mtu"? (known: delay, ipv6, jitter, link, loss, mtu, nic)`},
		"twice":             {minimal + "blocks: 3\nblocks: 4\n", `f:4: mapping key "blocks" already defined`},
		"twice, quoted":     {minimal + "blocks: 3\n\"blocks\": 4\n", `f:4: `},
		"two documents":     {minimal + "---\n" + minimal, "f:4: second YAML document"},
		"anchor":            {"networks: &n [host]\nprobes: [p]\n", "f:1: YAML anchor is not supported"},
		"alias":             {"networks: [host]\nprobes: *n\n", "f:2: YAML alias is not supported"},
		"tag":               {minimal + "blocks: !!int 3\n", "f:3: YAML tag is not supported"},
		"no value":          {minimal + "blocks:\n", "f:3: blocks has no value"},
		"not UTF-8":         {minimal + "name: \xff\n", "f: not UTF-8"},
		"too long":          {minimal + "#" + strings.Repeat(" ", strictyaml.MaxSource), "f: file has 65575 bytes: want at most 65536"},
		"too deep":          {minimal + "name: " + strings.Repeat("[", 60) + strings.Repeat("]", 60), "f:3: nested more than 50 levels"},
		"no networks":       {"probes: [p]\n", "f: networks is missing or empty"},
		"empty networks":    {"networks: []\nprobes: [p]\n", "f:1: networks is missing or empty"},
		"no probes":         {"networks: [host]\n", "f: probes is missing or empty"},
		"scalar network":    {"networks: host\nprobes: [p]\n", "f:1: networks must be a list, as in [a, b], not text"},
		"list in list":      {"networks: [[host]]\nprobes: [p]\n", "f:1: want a name, not a list"},
		"kind as key":       {"networks:\n - host\n - vxlan: {vni: 7}\nprobes: [p]\n", `f:3: a mapping without the key "use": write {use: vxlan, vni: 7}`},
		"without use":       {"networks:\n - name: x\nprobes: [p]\n", `f:2: a mapping without the key "use": write {use: kind, option: value}`},
		"empty name":        {"networks: [{use: host, name: ''}]\nprobes: [p]\n", "f:1: name is empty"},
		"bad name":          {"networks: [{use: host, name: a/b}]\nprobes: [p]\n", `f:1: networks[0]: name: invalid name "a/b": use letters and digits`},
		"dots":              {"networks: ['..']\nprobes: [p]\n", `f:1: networks[0]: use: invalid name ".."`},
		"long name":         {"networks: [{use: host, name: " + long + "}]\nprobes: [p]\n", "has 65 bytes: want at most 64"},
		"name taken":        {"networks:\n - host\n - {use: x, name: host}\nprobes: [p]\n", "f:3: networks[1]: name \"host\" is taken by networks[0]"},
		"baseline":          {minimal + "baseline: hots\n", `f:3: baseline "hots" is not one of the networks (host)`},
		"blocks 0":          {minimal + "blocks: 0\n", "f:3: blocks 0 is outside 1..100000"},
		"blocks 100001":     {minimal + "blocks: 100001\n", "f:3: blocks 100001 is outside 1..100000"},
		"blocks 1.5":        {minimal + "blocks: 1.5\n", `f:3: blocks: invalid integer "1.5"`},
		"blocks huge":       {minimal + "blocks: 99999999999999999999\n", "f:3: blocks: integer 99999999999999999999 is out of range"},
		"seed negative":     {minimal + "seed: -1\n", `f:3: seed: invalid integer "-1"`},
		"precision number":  {minimal + "precision: 0.02\n", `f:3: precision: invalid percentage "0.02": write it as 2%`},
		"precision small":   {minimal + "precision: 0.09%\n", "f:3: precision 0.09% is outside 0.1%..50%"},
		"precision large":   {minimal + "precision: 51%\n", "f:3: precision 51% is outside"},
		"precision word":    {minimal + "precision: '%'\n", "f:3: precision: invalid percentage \"%\""},
		"duration number":   {minimal + "duration: 5\n", `f:3: duration: invalid duration "5": write it as 150ms, 1s or 10m`},
		"fast blocks":       {minimal + "fast:\n  blocks: 0\n", "f:4: fast.blocks 0 is outside 1..100000"},
		"fast duration":     {minimal + "fast: {duration: 1ms}\n", "f:3: fast.duration 1ms is outside 10ms..1h0m0s"},
		"fast key":          {minimal + "fast: {precision: 2%}\n", `f:3: fast has no key "precision"`},
		"duration short":    {minimal + "duration: 9ms\n", "f:3: duration 9ms is outside 10ms..1h0m0s"},
		"duration long":     {minimal + "duration: 61m\n", "f:3: duration 1h1m0s is outside"},
		"warmup negative":   {minimal + "warmup: -1s\n", "f:3: warmup -1s is outside"},
		"episodes negative": {minimal + "episodes: -1\n", "f:3: episodes -1 is outside 0..100000"},
		"max-time negative": {minimal + "max-time: -1s\n", "f:3: max-time -1s is negative"},
		"factor name":       {minimal + "factors: {a b: [1]}\n", `f:3: factors.a b cannot be a factor: invalid name "a b"`},
		"reserved factor":   {minimal + "factors:\n  network: [1]\n", "f:4: factors.network always varies"},
		"no levels":         {minimal + "factors:\n  mtu: []\n", "f:4: factors.mtu has no levels"},
		"level twice":       {minimal + "factors:\n  mtu: [1, '1']\n", `f:4: factors.mtu has duplicate level "1"`},
		"empty level":       {minimal + "factors:\n  mtu: ['']\n", `f:4: factors.mtu has invalid level ""`},
		"null level":        {minimal + "factors:\n  mtu: [~]\n", "f:4: factors.mtu[0] has no value"},
		"scalar levels":     {minimal + "factors:\n  mtu: 1500\n", "f:4: factors.mtu must be a list"},
		"too many cells":    {minimal + "factors: {a: " + levels(400) + ", b: " + levels(400) + "}\n", "f:3: factors with networks and probes make more than 100000 cells"},
		"hosts":             {minimal + "hosts: 0\n", "f:3: hosts 0 is outside 1..16383"},
		"pods":              {minimal + "pods: 254\n", "f:3: pods 254 is outside 1..253"},
		"mtu":               {minimal + "underlay: {mtu: 575}\n", "f:3: underlay.mtu 575 is outside 576..65535"},
		"mtu for IPv6":      {minimal + "pods-ipv6: true\nunderlay:\n  mtu: 1279\n", "f:5: underlay.mtu 1279 is outside 1280..65535"},
		"link":              {minimal + "underlay: {link: fast}\n", `f:3: underlay.link "fast" is not a rate: write it as 1gbit, or unlimited`},
		"nic":               {minimal + "underlay: {nic: smart}\n", `f:3: nic: invalid NIC "smart": want full, none or tso`},
		"pairs":             {minimal + "pairs: some\n", `f:3: pairs: invalid value "some": want one or all`},
		"pairs of one":      {minimal + "hosts: 1\npairs: all\n", "f:4: pairs all: 1 host makes no pair"},
		"too many pairs":    {minimal + "hosts: 500\npairs: all\n", "f:4: pairs all: 1 cells between every two of 500 hosts are more than 100000 trials"},
		"one at a time":     {minimal + "one-at-a-time: true\n", "f:3: one-at-a-time requires pairs: all"},
		"pair as factor":    {minimal + "factors: {pair: [h1-h2]}\n", "f:3: factors.pair is reserved: use the key pairs"},
		"bool":              {minimal + "pods-ipv6: yes\n", `f:3: pods-ipv6: invalid boolean "yes": want true or false`},
	} {
		_, err := Load([]byte(c.src), "f")
		var e *strictyaml.Error
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &e) {
			t.Errorf("%s: error %v\nwant %s", name, err, c.want)
		}
	}
}

func levels(n int) string {
	var l []string
	for i := range n {
		l = append(l, strings.Repeat("x", 1+i/26)+string(rune('a'+i%26)))
	}
	return "[" + strings.Join(l, ", ") + "]"
}

// One pass reports all errors in the order of their lines.
func TestAllErrors(t *testing.T) {
	_, err := Load([]byte("hosts: 0\nnetworks: [a, {use: b, name: a}]\nblocks: 0\nprobes: [p]\n"), "f")
	want := "f:1: hosts 0 is outside 1..16383\nf:2: networks[1]: name \"a\" is taken by networks[0]\nf:3: blocks 0 is outside 1..100000"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestBoundsAreIn(t *testing.T) {
	for _, src := range []string{
		"blocks: 1", "blocks: 100000", "duration: 10ms", "duration: 1h", "warmup: 0s", "precision: 0.1%", "precision: 50%",
		"hosts: 1", "underlay: {mtu: 576}", "underlay: {link: 2.5 Gbit/s}", "underlay: {link: unlimited, nic: none}", "underlay: {nic: full}",
	} {
		if _, err := Load([]byte(minimal+src), "f"); err != nil {
			t.Error(err)
		}
	}
}

// The fast form has the study's cells and a fixed number of blocks.
func TestFaster(t *testing.T) {
	s, err := Load([]byte(full), "full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f := s.Faster()
	if f.Blocks != 6 || f.Duration != 50*time.Millisecond || f.Warmup != 20*time.Millisecond || f.Precision != 0 || f.MaxTime != 0 {
		t.Errorf("fast: %+v", f)
	}
	if err := f.Validate(); err != nil {
		t.Error(err)
	}
	if !reflect.DeepEqual(f.Cells(nil), s.Cells(nil)) {
		t.Error("the cells differ")
	}
}

// Files other than studies are decoded as strictly, and know their places.
func TestDecodeOther(t *testing.T) {
	type part struct {
		At   strictyaml.Position
		Text string
	}
	var into struct {
		Parts   []part
		Studies map[string]Study
	}
	src := "parts:\n- text: a\n-\n  text: b\nstudies:\n  small:\n    networks: [host]\n    probes: [ping]\n"
	if err := strictyaml.Decode([]byte(src), "f", &into); err != nil {
		t.Fatal(err)
	}
	if got := into.Parts[1].At.Errorf("wrong").Error(); got != "f:4: wrong" {
		t.Errorf("place %q", got)
	}
	if s := into.Studies["small"]; s.Blocks != Default().Blocks || s.Baseline != "host" {
		t.Errorf("study %+v", s)
	}
	for src, want := range map[string]string{
		"parts:\n- at: 7\n": `f:2: parts[0] has no key "at"`,
		"studies:\n  small:\n    networks: [host]\n    probes: [ping]\n    blocks: 0\n": "f:5: blocks 0 is outside",
		"studies:\n  small:\n    networks: [host]\n":                                    "f: probes is missing or empty",
	} {
		if err := strictyaml.Decode([]byte(src), "f", &into); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", src, err, want)
		}
	}
}
