package study

import (
	"fmt"
	"math/big"
	"path"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/topo"
)

// plain is a Study without its methods, so the decoder sees its fields.
type plain Study

// A file is a Study in the shape of its YAML, for keys whose text differs from their stored form.
type file struct {
	plain
	Precision percent
	Pairs     pairs
	Hosts     int
	Pods      int
	PodsIPv6  bool `yaml:"pods-ipv6"`
	Underlay  struct {
		MTU    int
		Link   link
		NIC    nic
		Delay  time.Duration
		Jitter time.Duration
		Loss   percent
		IPv6   bool
	}
}

// Load reads and checks a study and fills in defaults. name is the file's name: errors begin with
// it, and it is the study's default name. The error joins one *strictyaml.Error per mistake.
func Load(src []byte, name string) (Study, error) {
	base := path.Base(strings.ToValidUTF8(name, "_"))
	s := Study{Name: strings.TrimSuffix(base, path.Ext(base))}
	if err := strictyaml.Decode(src, name, &s); err != nil {
		return Study{}, err
	}
	return s, nil
}

func (s *Study) DecodeNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	f := fileOf(Default())
	f.Name = s.Name
	before := len(d.Errs)
	d.Decode(n, reflect.ValueOf(&f).Elem(), "a study")
	if len(d.Errs) > before {
		return
	}
	f.Target.trim()
	if n.Get("hosts") == nil && f.Target.Hosts() > 0 {
		f.Hosts = f.Target.Hosts()
	}
	if len(f.Events) > 0 && n.Get("fast") == nil {
		f.Fast.Warmup, f.Fast.Duration = f.Warmup, f.Duration // an event takes its time
	}
	*s = f.study().Resolve()
	s.OneWay = n.Get("swap") != nil && !s.Swap
	s.places = map[string]string{}
	for factor := range s.Factors {
		s.places[factor] = fmt.Sprintf("%s:%d", d.File, problem{keys: key("factors", factor)}.at(n))
	}
	for _, p := range s.problems() {
		d.Fail(p.at(n), "%w", p.err)
	}
}

func (f file) study() Study {
	s, u := Study(f.plain), f.Underlay
	s.Precision, s.AllPairs = float64(f.Precision), bool(f.Pairs)
	s.Topology = Topology{
		Hosts: f.Hosts, Pods: f.Pods, PodsIPv6: f.PodsIPv6,
		MTU: u.MTU, Link: string(u.Link), NIC: topo.NIC(u.NIC), IPv6: u.IPv6,
		Distance: topo.Distance{Delay: u.Delay, Jitter: u.Jitter, Loss: float64(u.Loss)},
	}
	return s
}

// fileOf is the inverse of study.
func fileOf(s Study) file {
	t := s.Topology
	f := file{plain: plain(s), Precision: percent(s.Precision), Pairs: pairs(s.AllPairs), Hosts: t.Hosts, Pods: t.Pods, PodsIPv6: t.PodsIPv6}
	f.Underlay.MTU, f.Underlay.Link, f.Underlay.NIC, f.Underlay.IPv6 = t.MTU, link(t.Link), nic(t.NIC), t.IPv6
	f.Underlay.Delay, f.Underlay.Jitter, f.Underlay.Loss = t.Distance.Delay, t.Distance.Jitter, percent(t.Distance.Loss)
	return f
}

// percent is a share with the text form "2%".
type percent float64

func (p *percent) UnmarshalText(b []byte) error {
	num, ok := strings.CutSuffix(string(b), "%")
	// The exponent divides by 100 without a rounding error of its own.
	f, err := strconv.ParseFloat(num+"e-2", 64)
	if !ok || err != nil || strings.Trim(num, "0123456789.") != "" {
		return fmt.Errorf("invalid percentage %q: write it as 2%%", b)
	}
	*p = percent(f)
	return nil
}

// String is exact: UnmarshalText reads the same number back.
func (p percent) String() string {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(float64(p), 'f', -1, 64))
	if !ok { // NaN or infinite, which Validate rejects
		return "none"
	}
	s := r.Mul(r, big.NewRat(100, 1)).FloatString(30)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") + "%"
}

// A link is a rate, or "unlimited".
type link string

func (l *link) UnmarshalText(b []byte) error {
	*l = link(b)
	if *l == "unlimited" {
		*l = ""
	}
	return nil
}

func (l link) String() string {
	if l == "" {
		return "unlimited"
	}
	return string(l)
}

// A nic is a topo.NIC with "full" as the text of topo.NICFull.
type nic topo.NIC

func (c *nic) UnmarshalText(b []byte) error {
	switch s := string(b); s {
	case "full":
		*c = nic(topo.NICFull)
	case string(topo.NICTSO), string(topo.NICNone):
		*c = nic(s)
	default:
		return fmt.Errorf("invalid NIC %q: want full, none or tso", s)
	}
	return nil
}

func (c nic) String() string {
	if topo.NIC(c) == topo.NICFull {
		return "full"
	}
	return string(c)
}
