package study

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/strictyaml"
)

const comparing = `networks: [host, ipip, relay]
probes: [udp-stream, udp-rr]
factors:
  size: [1472, 1473]
  load: [idle, tcp-stream, udp-rate@10%]
  link: [1gbit/s]
`

func TestCompare(t *testing.T) {
	s, err := Load([]byte(comparing+`compare:
  - {to: {load: idle}}
  - of: {size: 1473}
    to: {size: 1472}
    in: {network: [host, ipip]}
    text: a datagram one byte above the MTU
  - of: {load: [tcp-stream, udp-rate@10%]}
    to: {load: idle}
    per: {network: host}
  - {to: {network: host}, value: rtt.path}
  - {to: {network: host}}
`), "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []Contrast{
		{To: map[string]string{"load": "idle"}},
		{Of: Levels{"size": {"1473"}}, To: map[string]string{"size": "1472"}, In: Levels{"network": {"host", "ipip"}}, Text: "a datagram one byte above the MTU"},
		{Of: Levels{"load": {"tcp-stream", "udp-rate@10%"}}, To: map[string]string{"load": "idle"}, Per: map[string]string{"network": "host"}},
		{To: map[string]string{"network": "host"}, Value: "rtt.path"},
		{To: map[string]string{"network": "host"}},
	}
	if got := withoutPos(s).Compare; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	baselines := ""
	for _, c := range s.Compare {
		baselines += c.Baseline() + ";"
	}
	if baselines != ";;;;host;" {
		t.Errorf("baselines %s", baselines)
	}
	if got := s.Compare[1].Pos(); got != "s.yaml:9" {
		t.Errorf("place %s", got)
	}
	if got, want := s.Compare[1].String(), `{of: {size: 1473}, to: {size: 1472}, in: {network: [host, ipip]}, text: a datagram one byte above the MTU}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	checkRoundTrip(t, s)
}

// Every mistake names its line, and what exists.
func TestCompareRefuses(t *testing.T) {
	for name, c := range map[string]struct{ compare, want string }{
		"not a list":       {"compare: {to: {load: idle}}", "s:7: compare must be a list, as in [a, b], not a mapping"},
		"not a mapping":    {"compare: [load]", "s:7: want a comparison, as in {to: {load: idle}}, not text"},
		"unknown key":      {"compare:\n- too: {load: idle}", `s:8: a comparison has no key "too": did you mean "to"?`},
		"no to":            {"compare:\n- text: x", "s:8: compare[0].to is missing or empty: name the level that divides"},
		"empty to":         {"compare:\n- to: {}", "s:8: compare[0].to is missing or empty"},
		"two to":           {"compare:\n- to: {load: [idle, tcp-stream]}", "s:8: to.load must be one value, not a list"},
		"factor":           {"compare:\n- text: x\n  to:\n    lod: idle", "s:10: compare[0].to.lod is an unknown factor: the study varies link, load, network, probe, size"},
		"level":            {"compare:\n- {to: {load: busy}}", `s:8: compare[0].to.load has unknown level "busy": use one of idle, tcp-stream, udp-rate@10%`},
		"network":          {"compare:\n- {to: {network: hots}}", `s:8: compare[0].to.network has unknown level "hots": use one of host, ipip, relay`},
		"probe in":         {"compare:\n- to: {load: idle}\n  in: {probe: [udp-rr, ping]}", `s:9: compare[0].in.probe has unknown level "ping": use one of udp-stream, udp-rr`},
		"level of of":      {"compare:\n- {of: {size: 9}, to: {size: 1472}}", `s:8: compare[0].of.size has unknown level "9": use one of 1472, 1473`},
		"level twice":      {"compare:\n- {of: {load: [tcp-stream, tcp-stream]}, to: {load: idle}}", `s:8: compare[0].of.load has duplicate level "tcp-stream"`},
		"no levels":        {"compare:\n- {to: {load: idle}, in: {size: []}}", "s:8: compare[0].in.size has no levels"},
		"null level":       {"compare:\n- {to: {load: idle}, in: {size: ~}}", "s:8: size has no value"},
		"empty of":         {"compare:\n- {to: {load: idle}, of: {}}", "s:8: compare[0].of is empty: omit it"},
		"empty per":        {"compare:\n- {to: {load: idle}, per: {}}", "s:8: compare[0].per is empty: omit it"},
		"of another":       {"compare:\n- {to: {load: idle}, of: {load: tcp-stream, size: 1473}}", "s:8: compare[0].of.size is not a factor of to"},
		"of lacks":         {"compare:\n- {to: {load: idle, size: 1472}, of: {load: tcp-stream}}", "s:8: compare[0].of lacks size, a factor of to"},
		"in and to":        {"compare:\n- {to: {load: idle}, in: {load: tcp-stream}}", "s:8: compare[0].in.load is a factor of to: list its levels under of"},
		"per and to":       {"compare:\n- {to: {load: idle}, per: {load: idle}}", "s:8: compare[0].per.load is a factor of to"},
		"itself":           {"compare:\n- {of: {load: idle}, to: {load: idle}}", "s:8: compare[0] matches no two cells"},
		"among others":     {"compare:\n- {of: {load: [tcp-stream, idle]}, to: {load: idle}}", "s:8: compare[0] divides cells by themselves: of includes the level of to"},
		"single level":     {"compare:\n- {to: {link: 1gbit/s}}", "s:8: compare[0] matches no two cells: the study has no other level of the factors of to"},
		"per itself":       {"compare:\n- {to: {load: idle}, in: {network: host}, per: {network: host}}", "s:8: compare[0] matches no two ratios"},
		"value":            {"compare:\n- {to: {load: idle}, value: the tail}", `s:8: compare[0].value is not the name of a value: invalid name "the tail"`},
		"twice":            {"compare:\n- {to: {load: idle}}\n- {to: {load: idle}, text: again}", "s:9: compare[1] repeats compare[0]"},
		"block":            {"compare:\n- {to: {block: 1}}", "s:8: compare[0].to.block is an unknown factor"},
		"many":             {"compare:" + strings.Repeat("\n- {to: {load: idle}}", 101), "s:7: compare has 101 comparisons: want at most 100"},
		"list as contrast": {"compare:\n- [to]", "s:8: want a comparison, as in {to: {load: idle}}, not a list"},
	} {
		_, err := Load([]byte(comparing+c.compare+"\n"), "s")
		var e *strictyaml.Error
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &e) {
			t.Errorf("%s: error %v\nwant %s", name, err, c.want)
		} else if n := strings.Count(err.Error(), "\n"); n > 0 {
			t.Errorf("%s: one mistake is reported %d times:\n%v", name, n+1, err)
		}
	}
}

func TestParseContrast(t *testing.T) {
	s, err := Load([]byte(comparing), "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for src, want := range map[string]string{
		"load=idle":                               "{to: {load: idle}}",
		"network=host":                            "{to: {network: host}}",
		"load=tcp-stream/idle":                    "{of: {load: tcp-stream}, to: {load: idle}}",
		"load=tcp-stream,udp-rate@10%/idle":       `{of: {load: [tcp-stream, "udp-rate@10%"]}, to: {load: idle}}`,
		"link=1gbit/s":                            "{to: {link: 1gbit/s}}",
		"{to: {load: idle}, in: {network: host}}": "{to: {load: idle}, in: {network: host}}",
	} {
		c, err := s.ParseContrast(src)
		if err != nil || c.String() != want {
			t.Errorf("%s: %s, %v, want %s", src, c, err, want)
		}
	}
	for _, src := range []string{"", "load", "=idle", "load=", "load=/idle", "load=tcp-stream/", "{to: [load]}", "{to: {load: idle}", "{too: {load: idle}}"} {
		if c, err := s.ParseContrast(src); err == nil {
			t.Errorf("%q: no error, %s", src, c)
		}
	}
}

// Levels that the command line removes restrict a comparison, or drop it if nothing is left to compare.
func TestFitCompare(t *testing.T) {
	s, err := Load([]byte(comparing+`compare:
  - {of: {load: [tcp-stream, udp-rate@10%]}, to: {load: idle}}
  - {of: {size: 1473}, to: {size: 1472}, in: {network: [host, relay]}}
  - {to: {load: tcp-stream}}
  - {to: {size: 1472}, in: {network: relay}}
`), "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.Networks = s.Networks[:2]
	s.Vary("load", []string{"idle", "udp-rate@10%"})
	dropped := s.FitCompare()
	got := ""
	for _, c := range s.Compare {
		got += c.String() + "\n"
	}
	if want := "{of: {load: \"udp-rate@10%\"}, to: {load: idle}}\n{of: {size: 1473}, to: {size: 1472}, in: {network: host}}\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if text := errors.Join(dropped...).Error(); len(dropped) != 2 || !strings.Contains(text, `compare[2].to.load has unknown level "tcp-stream"`) || !strings.Contains(text, `compare[3].in.network has unknown level "relay"`) {
		t.Errorf("dropped %v", dropped)
	}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	if dropped := s.FitCompare(); dropped != nil || len(s.Compare) != 2 {
		t.Errorf("dropped again: %v", dropped)
	}
}

// The network that divides follows the baseline.
func TestAgainst(t *testing.T) {
	s, err := Load([]byte(comparing+"compare: [{to: {load: idle}}, {to: {network: host}}]\n"), "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Against("ipip", false); got.Compare[1].Baseline() != "ipip" || s.Compare[1].Baseline() != "host" || len(got.Compare) != 2 {
		t.Errorf("%v, %v", got.Compare, s.Compare)
	}
	s.Compare = s.Compare[:1]
	if got := s.Against("ipip", false); len(got.Compare) != 1 {
		t.Errorf("%v", got.Compare)
	}
	if got := s.Against("ipip", true); len(got.Compare) != 2 || got.Compare[1].Baseline() != "ipip" {
		t.Errorf("%v", got.Compare)
	}
}
