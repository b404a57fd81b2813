package study

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/plan"
)

const withEvents = `
networks: [host, vxlan-overlay]
probes: [udp-rr]
events:
  - {name: pulled, at: 200ms, for: 300ms, do: [{in: h2, set: {dev: eth0, down: true}}]}
  - {name: forgotten, at: 200ms, networks: [vxlan-overlay], do: [{in: h1, fdb: {dev: vx0, dst: 198.18.0.2, gone: true}}], undo: [{in: h1, fdb: {dev: vx0, dst: 198.18.0.2}}], traffic: moves, over: [{in: h1, dev: vx1}]}
`

func TestEvents(t *testing.T) {
	s, err := Load([]byte(withEvents), "x.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pulled := plan.Event{Name: "pulled", At: 200 * time.Millisecond, For: 300 * time.Millisecond, Do: []plan.Step{{In: "h2", Set: &plan.Set{Dev: "eth0", Down: true}}}}
	if got, ok := s.Event(map[string]string{"event": "pulled"}); !ok || !reflect.DeepEqual(got, pulled) {
		t.Errorf("pulled is %+v, %v", got, ok)
	}
	if _, ok := s.Event(map[string]string{"event": "none"}); ok {
		t.Error("none is an event")
	}
	if s.Fast.Duration != s.Duration {
		t.Errorf("the fast form lasts %v, in which no event fits", s.Fast.Duration)
	}
	var cells []string
	for _, c := range s.Cells(nil) {
		cells = append(cells, c.Network+" "+c.Levels["event"])
	}
	if got, want := strings.Join(cells, ", "), "host none, host pulled, vxlan-overlay none, vxlan-overlay pulled, vxlan-overlay forgotten"; got != want {
		t.Errorf("cells %s, want %s", got, want)
	}
	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Load(b, "y.yaml")
	if err != nil {
		t.Fatalf("%v in\n%s", err, b)
	}
	if !reflect.DeepEqual(again.Events, s.Events) || !reflect.DeepEqual(again.Factors, s.Factors) {
		t.Errorf("read again: %+v, %v; want %+v, %v", again.Events, again.Factors, s.Events, s.Factors)
	}
}

// Other networks than a study's own keep the events that can happen in them.
func TestFitEvents(t *testing.T) {
	for _, tc := range []struct {
		networks, events []string
		want             string // events, levels and why one is left out
	}{
		{[]string{"host"}, nil, "[pulled []] [none pulled] [the event forgotten happens only in vxlan-overlay]"},
		{[]string{"host", "vxlan-overlay"}, nil, "[pulled [] forgotten [vxlan-overlay]] [none pulled forgotten] []"},
		{[]string{"host"}, []string{"none", "forgotten"}, "the event forgotten happens only in vxlan-overlay, and the networks are host: nothing would happen"},
	} {
		s, err := Load([]byte(withEvents), "x.yaml")
		if err != nil {
			t.Fatal(err)
		}
		s.Networks = nil
		for _, n := range tc.networks {
			s.Networks = append(s.Networks, Use{Kind: n, Name: n})
		}
		if tc.events != nil {
			s.Vary(EventFactor, tc.events)
		}
		dropped, err := s.FitEvents()
		var events []any
		for _, e := range s.Events {
			events = append(events, e.Name, e.Networks)
		}
		got := fmt.Sprint(events, s.Factors[EventFactor], dropped)
		if err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%v %v: %s, want %s", tc.networks, tc.events, got, tc.want)
		}
	}
}

func TestEventErrors(t *testing.T) {
	for name, tc := range map[string]struct{ old, new, want string }{
		"none":        {"name: pulled", "name: none", `"none", which means that nothing happens`},
		"twice":       {"name: forgotten", "name: pulled", `has the name "pulled" of another`},
		"too late":    {"for: 300ms", "for: 800ms", "events number 1 (pulled) ends 1s after the window's begin: want less than its duration of 1s"},
		"negative":    {"at: 200ms, for: 300ms", "at: -1s, for: 300ms", "no negative time"},
		"no steps":    {"do: [{in: h2, set: {dev: eth0, down: true}}]", "do: []", "(pulled) does nothing"},
		"no network":  {"networks: [vxlan-overlay]", "networks: [vxlan]", `happens in "vxlan", which is not one of the networks`},
		"no event":    {"probes: [udp-rr]", "probes: [udp-rr]\nfactors: {event: [none, other]}", `"other" is not one of the events`},
		"unknown key": {"at: 200ms, for: 300ms", "at: 200ms, during: 300ms", `no key "during"`},
		"over":        {"traffic: moves, ", "", "(forgotten) leads traffic over devices (over), but has no traffic: moves"},
		"traffic":     {"traffic: moves", "traffic: away", `(forgotten) has traffic: "away": want moves`},
		"all pairs":   {"probes: [udp-rr]", "probes: [udp-rr]\npairs: all", "requires pairs: one"},
	} {
		src := strings.Replace(withEvents, tc.old, tc.new, 1)
		if src == withEvents {
			t.Fatalf("%s: %q is not in the study", name, tc.old)
		}
		if _, err := Load([]byte(src), "x.yaml"); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
