package experiment

import (
	"reflect"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/study"
)

// Without comparisons, networks have the study's baseline. With some, only one of networks does.
func TestReading(t *testing.T) {
	load := study.Contrast{Of: study.Levels{"load": {"full"}}, To: map[string]string{"load": "idle"}, In: study.Levels{"network": {"a"}}, Per: map[string]string{"probe": "tool"}, Value: "rtt.path", Text: "load"}
	networks := study.Contrast{To: map[string]string{"network": "b"}}
	part := study.Contrast{To: map[string]string{"network": "b"}, In: study.Levels{"probe": {"tool"}}}
	for _, c := range []struct {
		compare  []study.Contrast
		baseline string
	}{
		{nil, "a"}, {[]study.Contrast{load}, ""}, {[]study.Contrast{load, part}, ""}, {[]study.Contrast{load, networks}, "b"},
		{[]study.Contrast{networks, {To: map[string]string{"network": "a"}}}, "b"},
	} {
		s := fakeStudy(6)
		s.Compare, s.KeepDisturbed = c.compare, true
		o := Reading(s)
		if o.Baseline != c.baseline || len(o.Contrasts) != len(c.compare) || !o.KeepDisturbed || !reflect.DeepEqual(o.Networks, []string{"a", "b"}) || !reflect.DeepEqual(o.Probes, []string{"tool"}) {
			t.Errorf("%v: %+v, want baseline %q", c.compare, o, c.baseline)
		}
	}
	s := fakeStudy(6)
	s.Compare = []study.Contrast{load}
	want := analysis.Contrast{Of: map[string][]string{"load": {"full"}}, To: load.To, In: map[string][]string{"network": {"a"}}, Per: load.Per, Value: "rtt.path", Text: "load"}
	if got := Reading(s).Contrasts[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
