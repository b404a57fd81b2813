package study

import (
	"errors"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/strictyaml"
)

type common struct {
	Streams int
}

type driver struct {
	common
	VNI      int
	Port     uint16
	Learning bool
	Rate     float64
	Image    string
	Timeout  time.Duration
	Local    netip.Addr
	Names    []string
	Hops     []int
	Labels   map[string]string
	Inner    struct{ TTL *int }
	MaxAge   int `yaml:"max-age"`
	Chan     chan int
	hidden   int //lint:ignore U1000 decoding must not find it
	Internal int `yaml:"-"`
}

// use loads options, in flow form, behind "use: vxlan" on line 3.
func use(t *testing.T, options string) Use {
	t.Helper()
	s, err := Load([]byte("networks:\n - host\n - use: vxlan\n   "+strings.ReplaceAll(options, "\n", "\n   ")+"\nprobes: [p]\n"), "f")
	if err != nil {
		t.Fatal(err)
	}
	return s.Networks[1]
}

func TestDecode(t *testing.T) {
	got := driver{VNI: 42, Port: 4789}
	got.Streams = 1
	u := use(t, "port: 8472\nlearning: true\nrate: 1e9\nimage: 1.10\ntimeout: 5s\nlocal: 2001:2::1\nnames: [a, 7]\nhops: [1, 2]\nlabels: {a b: c}\ninner: {ttl: 64}\nmax-age: 300\nstreams: 4")
	if err := u.Decode(&got); err != nil {
		t.Fatal(err)
	}
	ttl := 64
	want := driver{
		VNI: 42, Port: 8472, Learning: true, Rate: 1e9, Image: "1.10", Timeout: 5 * time.Second, Local: netip.MustParseAddr("2001:2::1"),
		Names: []string{"a", "7"}, Hops: []int{1, 2}, Labels: map[string]string{"a b": "c"}, MaxAge: 300,
	}
	want.Inner.TTL, want.Streams = &ttl, 4
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestDecodeErrors(t *testing.T) {
	const known = "(known: chan, hops, image, inner, labels, learning, local, max-age, names, port, rate, streams, timeout, vni)"
	for options, want := range map[string]string{
		"vnii: 7":             `f:4: vxlan has no option "vnii": did you mean "vni"? ` + known,
		"hidden: 7":           `f:4: vxlan has no option "hidden" ` + known,
		"internal: 7":         `f:4: vxlan has no option "internal" ` + known,
		"common: {}":          `f:4: vxlan has no option "common" ` + known,
		"VNI: 7":              `f:4: vxlan has no option "VNI": did you mean "vni"? ` + known,
		"vni: seven":          `f:4: vxlan: vni: invalid integer "seven"`,
		"vni: 1.5":            `f:4: vxlan: vni: invalid integer "1.5"`,
		"vni: [7]":            `f:4: vxlan: vni must be one value, not a list`,
		"vni:":                `f:4: vxlan: vni has no value`,
		"port: 65536":         `f:4: vxlan: port: integer 65536 is out of range`,
		"port: -1":            `f:4: vxlan: port: invalid integer "-1"`,
		"learning: yes":       `f:4: vxlan: learning: invalid boolean "yes": want true or false`,
		"rate: .nan":          `f:4: vxlan: rate: invalid number ".nan"`,
		"rate: 1_000":         `f:4: vxlan: rate: invalid number "1_000"`,
		"rate: 0x1p4":         `f:4: vxlan: rate: invalid number "0x1p4"`,
		"rate: inf":           `f:4: vxlan: rate: invalid number "inf"`,
		"timeout: 5":          `f:4: vxlan: timeout: invalid duration "5": write it as 150ms, 1s or 10m`,
		"local: here":         `f:4: vxlan: local: ParseAddr("here"): unable to parse IP`,
		"names: a":            `f:4: vxlan: names must be a list, as in [a, b], not text`,
		"hops: [1, x]":        `f:4: vxlan: hops[1]: invalid integer "x"`,
		"inner: {tttl: 1}":    `f:4: vxlan: inner has no key "tttl": did you mean "ttl"? (known: ttl)`,
		"labels: {a: [1]}":    `f:4: vxlan: labels.a must be one value, not a list`,
		"chan: 1":             `f:4: vxlan: chan: a field of type chan int cannot be set from text`,
		"port: 1\nvni: x\na:": "f:5: vxlan: vni: invalid integer \"x\"\nf:6: vxlan has no option \"a\" " + known,
	} {
		err := use(t, options).Decode(&driver{})
		var e *strictyaml.Error
		if err == nil || err.Error() != want || !errors.As(err, &e) {
			t.Errorf("%s:\ngot  %v\nwant %s", options, err, want)
		}
	}
}

type sizes []int

func (s *sizes) UnmarshalText(b []byte) error {
	n, err := strconv.Atoi(string(b))
	*s = sizes{n}
	return err
}

func TestDecodeOneOrList(t *testing.T) {
	for options, want := range map[string]sizes{"sizes: 7": {7}, "sizes: [7, 8]": {7, 8}, "sizes: []": {}} {
		var got struct{ Sizes sizes }
		if err := use(t, options).Decode(&got); err != nil || !reflect.DeepEqual(got.Sizes, want) {
			t.Errorf("%s: %v, %v", options, got.Sizes, err)
		}
	}
	for _, options := range []string{"sizes: x", "sizes: [x]", "sizes: {a: 1}"} {
		if err := use(t, options).Decode(&struct{ Sizes sizes }{}); err == nil {
			t.Errorf("%s: no error", options)
		}
	}
}

func TestDecodeNoOptions(t *testing.T) {
	if err := (Use{Kind: "host"}).Decode(&struct{}{}); err != nil {
		t.Error(err)
	}
	err := Use{Kind: "host", Options: map[string]string{"a": "1"}}.Decode(&struct{}{})
	if err == nil || err.Error() != `host has no option "a": it has none` {
		t.Errorf("error %v", err)
	}
	for _, into := range []any{nil, driver{}, new(int), (*driver)(nil)} {
		if err := (Use{Kind: "host"}).Decode(into); err == nil {
			t.Errorf("%T: no error", into)
		}
	}
}

func TestParseUse(t *testing.T) {
	for src, want := range map[string]Use{
		"host":                                   {Kind: "host"},
		"{use: vxlan-overlay, vni: 7, name: vx}": {Kind: "vxlan-overlay", Name: "vx", Options: map[string]string{"vni": "7"}},
	} {
		u, err := ParseUse(src)
		u.file, u.lines = "", nil
		if err != nil || !reflect.DeepEqual(u, want) {
			t.Errorf("%s: got %+v, %v", src, u, err)
		}
		if u.String() != strings.Replace(src, "vni: 7, name: vx", "name: vx, vni: 7", 1) {
			t.Errorf("%s: is written %s", src, u)
		}
	}
	for src, want := range map[string]string{
		"": "is empty", "# x": "is empty", "[host]": "want a name, not a list", "a/b": "use letters and digits", "{vni: 7}": `without the key "use"`, "{": "",
		"{use: [x]}": "use must be one value",
	} {
		if _, err := ParseUse(src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", src, err, want)
		}
	}
}
