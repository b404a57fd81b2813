package study

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/strictyaml"
)

// AlsoKey is the option of every network that weir builds: steps after its own.
const AlsoKey = "also"

// Also returns the steps of the option also. Package network decides which of them can follow a
// network's own. An unknown key or an invalid value is a *strictyaml.Error with the line of its step.
func (u Use) Also() ([]plan.Step, error) {
	value, has := u.Options[AlsoKey]
	if !has {
		return nil, nil
	}
	d := strictyaml.Decoder{File: u.file}
	n, err := strictyaml.ParseFlow(value)
	switch {
	case err != nil:
		d.Fail(u.lines[AlsoKey], "%s: option %s: %w", u.Kind, AlsoKey, err)
		return nil, d.Err()
	case n.Kind != strictyaml.List:
		d.Fail(u.lines[AlsoKey], "%s: %s must be a list of steps, as in [{in: h1, set: {dev: eth0, mtu: 1400}}], not %s", u.Kind, AlsoKey, n.Kind)
		return nil, d.Err()
	}
	steps := make([]plan.Step, len(n.Items))
	for i, item := range n.Items {
		var inner strictyaml.Decoder
		inner.Decode(item, reflect.ValueOf(&steps[i]).Elem(), "a step")
		for _, e := range inner.Errs {
			d.Fail(u.lines[itemKey(AlsoKey, i)], "%s: %s: step %d: %w", u.Kind, AlsoKey, i+1, e.Err)
		}
	}
	return steps, d.Err()
}

// UnderKey is the option of every network that weir builds: conditions that hold for this network alone, in all trials.
const UnderKey = "under"

// Under returns the levels of the option under, by condition. Package catalog decides which conditions there are.
func (u Use) Under() (map[string]string, error) {
	value, has := u.Options[UnderKey]
	if !has {
		return nil, nil
	}
	d := strictyaml.Decoder{File: u.file}
	n, bad := strictyaml.ParseFlow(value)
	if bad == nil && n.Kind == strictyaml.Mapping {
		levels := map[string]string{}
		for _, e := range n.Keys {
			var level string
			d.Decode(e.Value, reflect.ValueOf(&level).Elem(), UnderKey+"."+e.Key)
			levels[e.Key] = level
		}
		return levels, d.Err()
	}
	d.Fail(u.lines[UnderKey], "%s: %s must be levels by condition, as in {mtu: 9000}", u.Kind, UnderKey)
	return nil, d.Err()
}

// WithUnder returns u under other conditions.
func (u Use) WithUnder(levels map[string]string) Use {
	u.Options = maps.Clone(u.Options)
	if u.Options == nil {
		u.Options = map[string]string{}
	}
	delete(u.Options, UnderKey)
	if len(levels) > 0 {
		n := &strictyaml.Node{Kind: strictyaml.Mapping}
		for _, name := range slices.Sorted(maps.Keys(levels)) {
			n.Add(name, strictyaml.NewText(levels[name]))
		}
		u.Options[UnderKey] = n.Flow()
	}
	return u
}

// itemKey is the key of a list's item in Use.lines.
func itemKey(option string, i int) string { return fmt.Sprintf("%s[%d]", option, i) }

// And returns u with more steps at the end of its option also. The option of u must be valid.
func (u Use) And(steps ...plan.Step) Use {
	all := &strictyaml.Node{Kind: strictyaml.List}
	if n, err := strictyaml.ParseFlow(u.Options[AlsoKey]); err == nil && n.Kind == strictyaml.List {
		all.Items = n.Items
	}
	for _, s := range steps {
		b, _ := json.Marshal(s) // maps, structs, slices, strings, numbers and addresses cannot fail
		if n, err := strictyaml.ParseFlow(string(b)); err == nil {
			all.Items = append(all.Items, n) // JSON is YAML on one line
		}
	}
	u.Options = maps.Clone(u.Options)
	if u.Options == nil {
		u.Options = map[string]string{}
	}
	u.Options[AlsoKey] = all.Flow()
	return u
}
