package claim

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/study"
)

const small = `source: Somebody, 2020
conditions: A machine.
studies:
  two:
    networks: [host, vxlan]
    probes: [tcp-stream]
    factors: {mtu: [1500, 9000]}
claims:
- id: vxlan-cost
  section: table 1
  text: VXLAN costs 30 %.
  published: -30 %
  study: two
  tests:
  - of: {network: vxlan, probe: tcp-stream, levels: {mtu: 1500}}
    to: {network: host, probe: tcp-stream, levels: {mtu: 1500}}
    ratio: -30%
    least: 0.49
    most: 0.84
  tolerance: The hardware differs.
  note: A veth is no NIC.
`

func shippedNone(string) (study.Study, error) { return study.Study{}, os.ErrNotExist }

func load(t *testing.T, src string) []Claim {
	t.Helper()
	cs, err := Load([]byte(src), "f", shippedNone)
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

func TestLoad(t *testing.T) {
	c := load(t, small)[0]
	if c.ID != "vxlan-cost" || c.Study.Name != "two" || c.Conditions != "A machine." || c.At.Line != 9 {
		t.Errorf("%+v", c)
	}
	if p := c.Tests[0].Published(); p != 0.7 {
		t.Errorf("published %g, want 0.7", p)
	}
	if got, want := c.Tests[0].String(), "[vxlan tcp-stream, mtu 1500] ÷ [host tcp-stream, mtu 1500]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A claim can name a shipped study that its file lacks.
func TestLoadShipped(t *testing.T) {
	own := load(t, small)[0].Study
	src := strings.Replace(small, "study: two", "study: elsewhere", 1)
	cs, err := Load([]byte(src), "f", func(name string) (study.Study, error) {
		if name != "elsewhere" {
			return study.Study{}, os.ErrNotExist
		}
		return own, nil
	})
	if err != nil || len(cs) != 1 {
		t.Fatalf("%v, %v", cs, err)
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"empty", small, "# nothing\n", "f: file is empty"},
		{"key", "  note: A veth", "  nota: A veth", `f:21: claims[0] has no key "nota": did you mean "note"?`},
		{"no source", "source: Somebody, 2020\n", "", "f: source is missing"},
		{"no conditions", "conditions: A machine.\n", "", "f: conditions is missing"},
		{"study", "study: two", "study: tow", `f:9: claim vxlan-cost: unknown study "tow": it is neither in this file nor shipped`},
		{"study's key", "probes: [tcp-stream]", "probe: [tcp-stream]", `f:6: a study has no key "probe"`},
		{"id", "id: vxlan-cost", "id: VXLAN", `f:9: invalid id "VXLAN"`},
		{"text", "  text: VXLAN costs 30 %.\n", "", "f:9: claim vxlan-cost: text is missing"},
		{"section", "  section: table 1\n", "", "section is missing"},
		{"published", "  published: -30 %\n", "", "published is missing"},
		{"tolerance", "  tolerance: The hardware differs.\n", "", "tolerance is missing"},
		{"note", "  note: A veth is no NIC.\n", "", "note is missing"},
		{"network", "of: {network: vxlan,", "of: {network: vxlna,", `f:15: claim vxlan-cost: study two has no network "vxlna"`},
		{"probe", "of: {network: vxlan, probe: tcp-stream", "of: {network: vxlan, probe: ping", `f:15: claim vxlan-cost: study two has no probe "ping"`},
		{"level", "levels: {mtu: 1500}}\n    to", "levels: {mtu: 1400}}\n    to", `has no level "1400" of a factor "mtu"`},
		{"factor", "levels: {mtu: 1500}}\n    to", "levels: {size: 1}}\n    to", `has no level "1" of a factor "size"`},
		{"cell's key", "of: {network: vxlan,", "of: {net: vxlan,", `f:15: of has no key "net"`},
		{"no divisor", "    to: {network: host, probe: tcp-stream, levels: {mtu: 1500}}\n", "", "f:15: claim vxlan-cost: want either to or sum in a test"},
		{"two divisors", "    ratio:", "    sum: [{network: host, probe: tcp-stream, levels: {mtu: 1500}}]\n    ratio:", "want either to or sum in a test"},
		{"half a double ratio", "    ratio:", "    per: {of: {network: vxlan, probe: tcp-stream, levels: {mtu: 9000}}, to: {network: host, probe: tcp-stream, levels: {mtu: 9000}}}\n    ratio:", "only one of the two ratios of a double ratio is published"},
		{"no bound", "    least: 0.49\n    most: 0.84\n", "", "want at least one bound above 0"},
		{"negative bound", "least: 0.49", "least: -1", "want at least one bound above 0"},
		{"bounds", "least: 0.49", "least: 0.9", "least 0.9 is not below most 0.84"},
		{"outside its own bounds", "ratio: -30%", "ratio: -90%", "published ratio 0.1 is outside the bounds: want 0.49 to 0.84"},
		{"figure", "ratio: -30%", "ratio: 30%", `f:17: ratio: invalid ratio "30%": want 900/934, -30%, +20% or 2`},
	} {
		src := strings.Replace(small, c.old, c.new, 1)
		if src == small {
			t.Fatalf("%s: nothing was changed", c.name)
		}
		_, err := Load([]byte(src), "f", shippedNone)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		var placed *strictyaml.Error
		if strings.HasPrefix(c.want, "f:") && c.want[2] != ' ' && !errors.As(err, &placed) {
			t.Errorf("%s: %v has no place", c.name, err)
		}
	}
}

func TestUnique(t *testing.T) {
	cs := load(t, small)
	other := load(t, small)[0]
	err := unique(append(cs, other))
	if err == nil || !strings.Contains(err.Error(), "claim vxlan-cost occurs twice") {
		t.Errorf("error %v", err)
	}
	other.ID = "another"
	if err := unique(append(cs, other)); err != nil {
		t.Errorf("two claims of one study: %v", err)
	}
	cs2, err := Load([]byte(strings.Replace(small, "vxlan-cost", "third", 1)), "g", shippedNone)
	if err != nil {
		t.Fatal(err)
	}
	if err := unique(append(cs, cs2...)); err == nil || !strings.Contains(err.Error(), `study "two" occurs in f and in g`) {
		t.Errorf("error %v", err)
	}
}

func TestFigure(t *testing.T) {
	for in, want := range map[string]float64{"900/934": 900. / 934, "-30%": 0.7, "+32.5%": 1.325, "2": 2, "0.206/0.112": 0.206 / 0.112, "1e3": 1000} {
		var f Figure
		if err := f.UnmarshalText([]byte(in)); err != nil || math.Abs(f.Value-want) > 1e-12 || f.Text != in {
			t.Errorf("%s: %+v, %v, want %g", in, f, err, want)
		}
	}
	for _, in := range []string{"", "%", "30%", "-100%", "-101%", "0", "-2", "1/0", "0/1", "a/b", "1/2/3", "NaN", "Inf", "Inf/Inf", "+NaN%"} {
		var f Figure
		if err := f.UnmarshalText([]byte(in)); err == nil || f != (Figure{}) {
			t.Errorf("%q is %+v", in, f)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(small)
	f.Fuzz(func(t *testing.T, src string) {
		cs, err := Load([]byte(src), "f", shippedNone)
		if err != nil {
			return
		}
		for _, c := range cs {
			if c.ID == "" || c.Source == "" || len(c.Tests) == 0 || len(c.Cells()) < 2*len(c.Tests) {
				t.Errorf("%+v", c)
			}
			Judge(cs, c.Study, run(nil))
		}
	})
}
