// Package settings lists the settings in which two runs differ, and says which of them a lab can reproduce: those
// become steps, options or conditions of a network, and any set of them can be applied. The others keep the reason why
// they cannot be applied.
//
// It must not measure, and it drops no difference.
package settings

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/study"
)

// A Run is one side of a bisection.
type Run struct {
	Study study.Study
	// Conditions are what the numbers of the run depend on, as JSON by name: what facts.Differ compares.
	Conditions map[string][]byte
	// Path is the settings of the path of the network that is bisected; nil if the run did not record them.
	Path *evidence.Settings
}

// A Setting is one difference that a lab can reproduce.
type Setting struct {
	Name   string   `json:"name"`             // what is set: net.ipv4.tcp_rmem, eth0 rx-gro, mtu
	Places []string `json:"places,omitempty"` // hosts and pods; empty for those of the whole network
	Before string   `json:"before"`           // "" where BEFORE sets nothing: the network's own
	After  string   `json:"after"`
	// Either steps set it, or it is a value of one of the following.
	from, to   []plan.Step
	option     string // of the network
	condition  string
	factor     string // of the probe
	hasA, hasB bool   // whether each side has the option or the condition at all
}

// String names s with its places.
func (s Setting) String() string {
	if len(s.Places) == 0 {
		return s.Name
	}
	return s.Name + " (" + strings.Join(s.Places, ", ") + ")"
}

// An Unapplied is a difference that a lab on this machine cannot reproduce.
type Unapplied struct {
	Key    string    `json:"key"` // as weir compare names it
	Before string    `json:"before"`
	After  string    `json:"after"`
	Reason lang.Text `json:"reason"`
}

// Differences holds everything in which two runs differ.
type Differences struct {
	Settings  []Setting   `json:"settings"`
	Unapplied []Unapplied `json:"unapplied"`
}

// None reports whether there is no difference.
func (d Differences) None() bool { return len(d.Settings)+len(d.Unapplied) == 0 }

// Without moves the settings for which reason is not "" to those that cannot be applied.
func (d Differences) Without(reason func(Setting) lang.Text) (out Differences) {
	out = Differences{Settings: []Setting{}, Unapplied: append([]Unapplied{}, d.Unapplied...)}
	for _, s := range d.Settings {
		if why := reason(s); why != "" {
			out.Unapplied = append(out.Unapplied, Unapplied{s.String(), s.Before, s.After, why})
		} else {
			out.Settings = append(out.Settings, s)
		}
	}
	return out
}

// A change is what one place sets under a name, on both sides.
type change struct {
	in, name      string
	before, after string
	from, to      []plan.Step
}

// merged joins changes that differ only in their place, in the order of the first ones.
func merged(all []change) (out []Setting) {
	at := map[[3]string]int{}
	for _, c := range all {
		k := [3]string{c.name, c.before, c.after}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, Setting{Name: c.name, Before: c.before, After: c.after})
		}
		s := &out[i]
		s.from, s.to = append(s.from, c.from...), append(s.to, c.to...)
		if !slices.Contains(s.Places, c.in) {
			s.Places = append(s.Places, c.in)
		}
	}
	return out
}

// Apply returns u with the values that a setting has on one side.
func (s Setting) Apply(u study.Use, after bool) study.Use {
	has := s.hasA
	if after {
		has = s.hasB
	}
	switch {
	case s.option != "":
		return with(u, s.option, s.value(after), has)
	case s.condition != "":
		under, err := u.Under()
		if err != nil {
			return u // it was read before
		}
		if under = maps.Clone(under); under == nil {
			under = map[string]string{}
		}
		delete(under, s.condition)
		if has {
			under[s.condition] = s.value(after)
		}
		return u.WithUnder(under)
	case len(s.Steps(after)) > 0:
		return u.And(s.Steps(after)...)
	}
	return u
}

// value returns the value of an option, a condition or a factor on one side.
func (s Setting) value(after bool) string {
	if after {
		return s.After
	}
	return s.Before
}

// Steps returns the steps of s on one side; nil for options and conditions.
func (s Setting) Steps(after bool) []plan.Step {
	if after {
		return s.to
	}
	return s.from
}

// with sets an option, or removes it.
func with(u study.Use, option, value string, has bool) study.Use {
	u.Options = maps.Clone(u.Options)
	if u.Options == nil {
		u.Options = map[string]string{}
	}
	delete(u.Options, option)
	if has {
		u.Options[option] = value
	}
	return u
}

// Variant returns u, the network of BEFORE without the differences, with the values of AFTER for the settings in set
// and of BEFORE for the others.
func (d Differences) Variant(u study.Use, set []bool) study.Use {
	for i, s := range d.Settings {
		u = s.Apply(u, set[i])
	}
	return u
}

// keyOf names what a step sets, apart from its place. Steps that depend on each other have one name.
func keyOf(s plan.Step) string {
	switch {
	case s.Sysctl != nil:
		return s.Sysctl.Key
	case s.Set != nil:
		return s.Set.Dev + " mtu"
	case s.Rate != nil:
		return s.Rate.Dev + " qdisc"
	case s.Exec != nil && s.Exec.Argv[0] == "tc":
		i := slices.Index(s.Exec.Argv, "dev")
		return strings.TrimSpace(s.Exec.Argv[min(i+1, len(s.Exec.Argv)-1)]) + " qdisc"
	case s.Exec != nil:
		return "nft"
	}
	return "devices, addresses and routes"
}

// single splits a step into those with one key each: offloads by their features.
func single(s plan.Step) (out []plan.Step, keys []string) {
	if s.Offload == nil {
		return []plan.Step{s}, []string{keyOf(s)}
	}
	for _, f := range slices.Sorted(maps.Keys(s.Offload.Features)) {
		out = append(out, plan.Step{In: s.In, Offload: &plan.Offload{Dev: s.Offload.Dev, Features: map[string]bool{f: s.Offload.Features[f]}}})
		keys = append(keys, s.Offload.Dev+" "+f)
	}
	return out, keys
}

// valueOf says what steps under one name set.
func valueOf(steps []plan.Step) string {
	var out []string
	for _, s := range steps {
		switch {
		case s.Sysctl != nil:
			out = append(out, s.Sysctl.Value)
		case s.Offload != nil:
			for _, on := range s.Offload.Features {
				out = append(out, onOff(on))
			}
		default:
			out = append(out, command(s))
		}
	}
	return strings.Join(out, "; ")
}

// command writes a step as a user would type it, without its place.
func command(s plan.Step) string {
	if s.Exec != nil {
		return strings.Join(s.Exec.Argv, " ")
	}
	var b strings.Builder
	if err := (plan.Plan{Steps: []plan.Step{s}}).Shell(&b, nil); err != nil {
		return err.Error()
	}
	line, _, _ := strings.Cut(strings.TrimSpace(b.String()), "\n")
	line = strings.TrimPrefix(line, "ip netns exec "+s.In+" ")
	return strings.Replace(line, "ip -n "+s.In+" ", "ip ", 1)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// A placed name is what a step sets, and in which place.
type placed struct{ in, name string }

// stepsOf returns what the option "also" of a network sets, by place and name, and the order in which these first
// occur.
func stepsOf(u study.Use) (by map[placed][]plan.Step, order []placed, _ error) {
	all, err := u.Also()
	by = map[placed][]plan.Step{}
	for _, s := range all {
		ones, keys := single(s)
		for i, one := range ones {
			p := placed{s.In, keys[i]}
			if by[p] == nil {
				order = append(order, p)
			}
			by[p] = append(by[p], one)
		}
	}
	return by, order, err
}

// alsoChanges compares the steps that two studies add to a network. common is BEFORE's network with the steps that are in
// both.
func alsoChanges(before, after study.Use) (common study.Use, changes []change, seen map[placed]bool, _ error) {
	a, first, err := stepsOf(before)
	if err != nil {
		return before, nil, nil, err
	}
	b, then, err := stepsOf(after)
	if err != nil {
		return before, nil, nil, err
	}
	common, seen = with(before, study.AlsoKey, "", false), map[placed]bool{}
	for _, p := range slices.Concat(first, then) {
		if seen[p] {
			continue
		}
		seen[p] = true
		if reflect.DeepEqual(a[p], b[p]) {
			common = common.And(a[p]...)
			continue
		}
		changes = append(changes, change{p.in, p.name, valueOf(a[p]), valueOf(b[p]), a[p], b[p]})
	}
	return common, changes, seen, nil
}

// byName orders settings for readers.
func byName(a, b Setting) int { return cmp.Compare(a.String(), b.String()) }
