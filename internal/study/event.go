package study

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/strictyaml"
)

// EventFactor is the factor whose levels are the study's events, and NoEvent the level in which none happens.
const (
	EventFactor = "event"
	NoEvent     = "none"
)

// Event returns the event of a trial's levels; false for NoEvent and in a study without events.
func (s Study) Event(levels map[string]string) (plan.Event, bool) {
	i := slices.IndexFunc(s.Events, func(e plan.Event) bool { return e.Name == levels[EventFactor] })
	if i < 0 {
		return plan.Event{}, false
	}
	return s.Events[i], true
}

// happens reports whether the event of levels can happen in a network.
func (s Study) happens(levels map[string]string, network string) bool {
	e, ok := s.Event(levels)
	return !ok || len(e.Networks) == 0 || slices.Contains(e.Networks, network)
}

// eventLevels makes the events a factor, unless the study chooses some of them itself.
func (s *Study) eventLevels() {
	if len(s.Events) == 0 || s.Factors[EventFactor] != nil {
		return
	}
	levels := []string{NoEvent}
	for _, e := range s.Events {
		levels = append(levels, e.Name)
	}
	s.Vary(EventFactor, levels)
}

// FitEvents limits the events to the networks that s has, and removes those with no network left. It returns the reason
// for each; with no event left, the first reason is an error of s.
func (s *Study) FitEvents() (dropped []error, err error) {
	have := Names(s.Networks)
	var kept []plan.Event
	levels := slices.Clone(s.Factors[EventFactor])
	for _, e := range s.Events {
		in := slices.DeleteFunc(slices.Clone(e.Networks), func(n string) bool { return !slices.Contains(have, n) })
		if len(in) == 0 && len(e.Networks) > 0 {
			dropped = append(dropped, fmt.Errorf("the event %s happens only in %s", e.Name, strings.Join(e.Networks, ", ")))
			levels = slices.DeleteFunc(levels, func(l string) bool { return l == e.Name })
			continue
		}
		e.Networks = in
		kept = append(kept, e)
	}
	if len(dropped) == 0 {
		s.Events = kept
		return nil, nil
	}
	if !slices.ContainsFunc(levels, func(l string) bool { return l != NoEvent }) {
		return nil, fmt.Errorf("%w, and the networks are %s: nothing would happen", dropped[0], strings.Join(have, ", "))
	}
	s.Events = kept
	s.Vary(EventFactor, levels)
	return dropped, nil
}

func (s Study) checkEvents(c *checker) {
	var names []string
	for i, e := range s.Events {
		at := key("events")
		where := strings.ReplaceAll(fmt.Sprintf("number %d (%s) ", i+1, e.Name), "%", "%%")
		if err := checkName(e.Name, ""); err != nil {
			c.that(false, at, where+"has an invalid name: %w", err)
		}
		c.that(e.Name != NoEvent, at, where+"has the name %q, which means that nothing happens", NoEvent)
		c.that(!slices.Contains(names, e.Name), at, where+"has the name %q of another", e.Name)
		c.that(len(e.Do) > 0, at, where+"does nothing: list its steps under do, as in [{in: h2, set: {dev: eth0, down: true}}]")
		c.that(e.At >= 0 && e.For >= 0, at, where+"happens at %v for %v: want no negative time", e.At, e.For)
		c.that(e.At+e.For < s.Duration, at, where+"ends %v after the window's begin: want less than its duration of %v", e.At+e.For, s.Duration)
		c.that(e.At+e.For < s.Fast.Duration || s.Fast.Duration == s.Duration, at, where+"ends %v after the window's begin: want less than the fast duration of %v (fast)", e.At+e.For, s.Fast.Duration)
		c.that(e.Traffic == "" || e.Traffic == plan.Moves || e.Traffic == plan.Stops, at,
			where+"has traffic: %q: want %s, if it leads traffic over other devices, or %s, if nothing may pass until it is undone", e.Traffic, plan.Moves, plan.Stops)
		c.that(len(e.Over) == 0 || e.Traffic == plan.Moves, at, where+"leads traffic over devices (over), but has no traffic: %s", plan.Moves)
		for _, n := range e.Networks {
			_, ok := s.Network(n)
			c.that(ok, at, where+"happens in %q, which is not one of the networks (%s)", n, strings.Join(Names(s.Networks), ", "))
		}
		names = append(names, e.Name)
	}
	c.that(len(s.Events) == 0 || !s.AllPairs, key("events"), "requires pairs: one: pairs that run at once would share the event")
	for _, l := range s.Factors[EventFactor] {
		c.that(l == NoEvent || slices.Contains(names, l), key("factors", EventFactor), "%q is not one of the events (%s)", l, strings.Join(append(names, NoEvent), ", "))
	}
}

// eventLine writes an event in the form of a study file.
func eventLine(e plan.Event) string {
	steps := func(all []plan.Step) string {
		var list strictyaml.Node
		list.Kind = strictyaml.List
		for _, s := range all {
			b, _ := json.Marshal(s) // maps, structs, slices, strings, numbers and addresses cannot fail
			if n, err := strictyaml.ParseFlow(string(b)); err == nil {
				list.Items = append(list.Items, n) // JSON is YAML on one line
			}
		}
		return list.Flow()
	}
	line := fmt.Sprintf("{name: %s, do: %s", strictyaml.Quote(e.Name), steps(e.Do))
	if len(e.Undo) > 0 {
		line += ", undo: " + steps(e.Undo)
	}
	line += fmt.Sprintf(", at: %s, for: %s", ascii(e.At), ascii(e.For))
	if len(e.Networks) > 0 {
		line += ", networks: " + strictyaml.NewList(e.Networks).Flow()
	}
	if e.Traffic != "" {
		line += ", traffic: " + strictyaml.Quote(e.Traffic)
	}
	if len(e.Over) > 0 {
		var over []string
		for _, d := range e.Over {
			over = append(over, fmt.Sprintf("{in: %s, dev: %s}", strictyaml.Quote(d.In), strictyaml.Quote(d.Dev)))
		}
		line += ", over: [" + strings.Join(over, ", ") + "]"
	}
	return line + "}"
}
