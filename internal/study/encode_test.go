package study

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/topo"
)

var words = []string{
	"a", "null", "Null", "~", "true", "on", "7", "1.10", "0x1f", "1_000", "1e5", "-5", ".5", "-.5", ".nan", "- a", "a: b", "a #b", "#a", "[", "]a", "{a}",
	"'", `"`, `\`, "a\nb\n", " a", "a ", "a  b", "\t", "\r\n", "\x00", "\u2028", "\ufeff", "ä", "😀", "%", "@", "`", "&a", "*a", "!a", "|", ">", "?", "? a",
	"---", "...", "2001-01-01", "a,b", "10:20", "<<", "=", "2%", "a/b", "line one\nline two", "\x7f\u0085\u00a0",
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

func randomStudy(r *rand.Rand) Study {
	s := Default()
	s.Name, s.Question, s.Description = pick(r, words), pick(r, words), pick(r, words)+pick(r, words)
	for _, uses := range []*[]Use{&s.Networks, &s.Probes} {
		for range 1 + r.IntN(4) {
			u := Use{Kind: pick(r, []string{"host", "bridge", "null", "7", "true"})}
			for range r.IntN(3) {
				if u.Options == nil {
					u.Options = map[string]string{}
				}
				n := &strictyaml.Node{Kind: strictyaml.Mapping, Keys: []strictyaml.Entry{{Key: pick(r, words), Value: &strictyaml.Node{Kind: strictyaml.List, Items: []*strictyaml.Node{{Kind: strictyaml.Text, Text: pick(r, words)}, {Kind: strictyaml.Null}}}}}}
				u.Options[pick(r, words)] = n.Flow()
			}
			*uses = append(*uses, u)
		}
	}
	for i := range r.IntN(3) {
		if s.Factors == nil {
			s.Factors = map[string][]string{}
		}
		a := r.IntN(len(words) - 1)
		s.Factors[fmt.Sprintf("null%d", i)] = []string{words[a], words[a+1]}
	}
	s.Compare = randomContrasts(r, s.Resolve())
	s.Blocks = 1 + r.IntN(MaxBlocks)
	if r.IntN(2) == 0 {
		s.Precision = MinPrecision + r.Float64()*(MaxPrecision-MinPrecision)
	}
	s.MaxTime, s.Warmup = time.Duration(r.Int64N(1e15)), time.Duration(r.Int64N(1e12))
	s.Swap = r.IntN(2) == 0
	s.Episodes = r.IntN(3)
	s.AllPairs = r.IntN(2) == 0
	s.OneAtATime = s.AllPairs && r.IntN(2) == 0
	s.Duration, s.Seed = MinDuration+time.Duration(r.Int64N(1e12)), r.Uint64()
	s.Fast = Fast{1 + r.IntN(MaxBlocks), time.Duration(r.Int64N(1e12)), MinDuration + time.Duration(r.Int64N(1e12))}
	s.Topology = Topology{Hosts: 2 + r.IntN(10), Pods: 1 + r.IntN(10), MTU: 1280 + r.IntN(9000), Link: pick(r, []string{"", "1gbit", "2.5 Mbit/s"}),
		NIC: topo.NIC(pick(r, []string{"", "tso", "none"})), IPv6: r.IntN(2) == 0, PodsIPv6: r.IntN(2) == 0,
		Distance: topo.Distance{Delay: time.Duration(1+r.IntN(1e6)) * time.Microsecond, Jitter: time.Duration(r.IntN(2)) * time.Microsecond, Loss: r.Float64()}}
	return s.Resolve()
}

func randomContrasts(r *rand.Rand, s Study) (cs []Contrast) {
	networks, probes := Names(s.Networks), Names(s.Probes)
	if len(networks) > 1 && r.IntN(2) == 0 {
		c := Contrast{To: map[string]string{"network": pick(r, networks)}, Value: pick(r, []string{"", "rtt.path"}), Text: pick(r, words)}
		if r.IntN(2) == 0 {
			c.In = Levels{"probe": probes}
		}
		cs = append(cs, c)
	}
	if l := s.Factors["null0"]; l != nil && len(networks) > 1 && r.IntN(2) == 0 {
		cs = append(cs, Contrast{Of: Levels{"null0": l[1:]}, To: map[string]string{"null0": l[0]}, Per: map[string]string{"network": pick(r, networks)}})
	}
	return cs
}

func TestEncodeLoad(t *testing.T) {
	r, studies := rand.New(rand.NewPCG(1, 2)), 1000
	if testing.Short() {
		studies /= 10
	}
	for range studies {
		checkRoundTrip(t, randomStudy(r))
	}
}

func checkRoundTrip(t *testing.T, s Study) {
	t.Helper()
	b, err := s.Encode()
	if err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	again, err := Load(b, "again.yaml")
	if err != nil {
		t.Fatalf("%s\n%v", b, err)
	}
	if got, want := withoutPos(again), withoutPos(s); !reflect.DeepEqual(got, want) {
		t.Fatalf("%s\ngot  %+v\nwant %+v", b, got, want)
	}
	if b2, err := again.Encode(); err != nil || !bytes.Equal(b, b2) {
		t.Fatalf("Encode is not stable: %v\n%s\n%s", err, b, b2)
	}
}

func TestEncoded(t *testing.T) {
	s, err := Load([]byte(full), "full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	const want = `name: all
question: "What?"
description: "Two\nlines.\n"
networks:
  - host
  - {use: host, name: "host#2"}
  - {use: vxlan-overlay, vni: 7}
  - {use: vxlan-overlay, name: vx-port, extra: {a: [1, "null", null], "b:c": 1.10}, port: 8472}
probes:
  - tcp-stream
  - {use: udp-rr, size: 64}
factors:
  mtu: [1500, 9000]
  offload: [on, off]
baseline: "host#2"
blocks: 7
precision: "2.5%"
max-time: 1h30m0s
warmup: 0s
duration: 150ms
fast: {blocks: 6, warmup: 20ms, duration: 50ms}
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
  loss: "0.1%"
  ipv6: true
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	checkRoundTrip(t, s)
}

func TestEncodeRefuses(t *testing.T) {
	for name, change := range map[string]func(*Study){
		"invalid":    func(s *Study) { s.Blocks = 0 },
		"unresolved": func(s *Study) { s.Networks = append(s.Networks, Use{Kind: "x"}) },
		"option":     func(s *Study) { s.Networks[0].Options = map[string]string{"a": "[1"} },
		"two values": func(s *Study) { s.Networks[0].Options = map[string]string{"a": "1, 2"} },
		"injection":  func(s *Study) { s.Networks[0].Options = map[string]string{"a": "1], [2"} },
		"comment":    func(s *Study) { s.Networks[0].Options = map[string]string{"a": "1 # 2"} },
		"use":        func(s *Study) { s.Networks[0].Options = map[string]string{"use": "x"} },
		"not UTF-8":  func(s *Study) { s.Question = "\xff" },
		"too long":   func(s *Study) { s.Question = string(make([]byte, strictyaml.MaxSource)) },
	} {
		s, err := Load([]byte(minimal), "f.yaml")
		if err != nil {
			t.Fatal(err)
		}
		change(&s)
		if b, err := s.Encode(); err == nil {
			t.Errorf("%s: no error:\n%s", name, b)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte(full))
	f.Add([]byte("networks: [a, b]\nprobes: [p]\nfactors: {f: [x, y, z]}\ncompare: [{to: {f: x}, of: {f: [y, z]}, in: {probe: p}, per: {network: a}, value: v, text: t}, {to: {network: a}}]\n"))
	for _, w := range words {
		f.Add([]byte(minimal + "name: " + w + "\nquestion: " + strictyaml.Quote(w)))
		f.Add([]byte("networks: [{use: host, " + strictyaml.Quote(w) + ": " + w + "}]\nprobes:\n- " + w))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := Load(src, "f.yaml")
		if err != nil {
			if !reflect.DeepEqual(s, Study{}) {
				t.Fatalf("both an error and %+v", s)
			}
			return
		}
		if err := s.Validate(); err != nil {
			t.Fatalf("loaded, but not valid: %v", err)
		}
		if b, err := s.Encode(); err == nil || len(b) > 0 || len(src) < strictyaml.MaxSource/20 {
			checkRoundTrip(t, s) // what is long enough may be too long when it is quoted
		}
	})
}

// The networks, probes and comparisons of a command line are one line each, and read back as they are written.
func FuzzFlags(f *testing.F) {
	for _, s := range []string{"host", "{use: vxlan-overlay, vni: 7}", "{use: host, name: a, list: [1, {b: c}]}", "load=idle", "offload=on/off",
		"{to: {load: idle}, of: {load: [a, b]}}", "size=1,2/3", "[", "{use: {use: x}}"} {
		f.Add(s)
	}
	for _, w := range words {
		f.Add("{use: host, " + strictyaml.Quote(w) + ": " + w + "}")
	}
	base, err := Load([]byte(minimal), "f.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if u, err := ParseUse(src); err == nil {
			s := base
			s.Networks = []Use{u}
			if s.Validate() == nil {
				checkRoundTrip(t, s)
			}
		}
		if c, err := base.ParseContrast(src); err == nil {
			s := base
			s.Compare = []Contrast{c}
			if s.Validate() == nil {
				checkRoundTrip(t, s)
			}
		}
	})
}
