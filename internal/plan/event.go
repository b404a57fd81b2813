package plan

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// An Event happens once within a trial, in the middle of its traffic: what stops the traffic, and for how long, is the
// question. Its times count from the start of the measured window.
type Event struct {
	Name string
	Do   []Step
	Undo []Step // what ends it; without them, Inverse of Do
	At   time.Duration
	For  time.Duration // how long after Do began Undo begins; 0: when the window has ended
	// Networks limits it to these of a study; none: all.
	Networks []string
	// Traffic is what the event is meant to do to it, besides stopping it for a while: Moves, Stops, or nothing.
	Traffic string
	// Over lists the devices over which an event that Moves traffic leads it: together with those of the plan in the same place, they
	// must have carried what arrived. Without any, nothing is known of where it went.
	Over []Device
}

// A Device is one of a place.
type Device struct {
	In  string `json:"in"`
	Dev string `json:"dev"`
}

// What an Event does to traffic.
const (
	// Moves leads it over other devices: those of the plan then need not have carried it, or not all of it (Event.Over).
	Moves = "moves"
	// Stops lets nothing through from the moment that its steps have ended until it is undone: what comes through is counted.
	Stops = "stops"
)

// The places of the two ends, as the steps of an event among machines that exist name them.
const (
	Client = "client"
	Server = "server"
)

// In returns e with the names of the places that Client and Server are.
func (e Event) In(client, server string) Event {
	name := func(in *string) {
		switch *in {
		case Client:
			*in = client
		case Server:
			*in = server
		}
	}
	e.Do, e.Undo, e.Over = slices.Clone(e.Do), slices.Clone(e.Undo), slices.Clone(e.Over)
	for _, steps := range [][]Step{e.Do, e.Undo} {
		for i := range steps {
			name(&steps[i].In)
		}
	}
	for i := range e.Over {
		name(&e.Over[i].In)
	}
	return e
}

// Carriers returns the devices of a place that together must carry what arrives, where the plan names dev; none if the event
// leaves open which do.
func (e Event) Carriers(in, dev string) []string {
	if e.Replaces(in) || e.Traffic == Moves && len(e.Over) == 0 {
		return nil
	}
	all := []string{dev}
	for _, o := range e.Over {
		if o.In == in && !slices.Contains(all, o.Dev) {
			all = append(all, o.Dev)
		}
	}
	return all
}

// Replaces reports whether the event can replace devices of a place, whose counters then begin anew: a daemon that ends takes
// with it those that it has made.
func (e Event) Replaces(place string) bool {
	return slices.ContainsFunc(slices.Concat(e.Do, e.Undo), func(s Step) bool { return s.Daemon != nil && s.In == place })
}

// A Daemon does something to a Service of the plan, in the place where it runs.
type Daemon struct {
	Name string `json:"name"` // of the Service
	// Do is kill (SIGKILL), terminate (SIGTERM, and it has ended when the step has), stop (SIGSTOP), continue (SIGCONT) or
	// start (again, after kill or terminate, until it is ready).
	Do string `json:"do"`
}

// What a Daemon can do. The second of a pair undoes the first.
const (
	Kill      = "kill"
	Terminate = "terminate"
	Stop      = "stop"
	Continue  = "continue"
	Start     = "start"
)

// A Command is a program that the study brings, in an event: it runs in the place, with weir's privileges.
type Command struct {
	Argv []string `json:"argv"` // a program and its arguments; no shell reads them
	// Undo is the command that ends it; without one, the event says how.
	Undo []string `json:"undo,omitempty"`
	// Timeout is how many seconds each can take, 1 to MaxCommandTime; 0 is CommandTime.
	Timeout int `json:"timeout,omitempty"`
}

// An Announce tells all neighbors on Dev which device has an address now: an ARP announcement, also called gratuitous ARP
// (RFC 5227, section 3). Without one, they send to the device that had it until they ask again.
type Announce struct {
	Dev  string     `json:"dev"`
	Addr netip.Addr `json:"addr"` // IPv4
}

// A Flush empties a table of the place's namespace.
type Flush struct {
	Table string `json:"table"` // conntrack: every connection that the kernel tracks, with its translation of addresses
}

// A Reload replaces the packet filter of the place by the same rules, all in one transaction, as firewalls and agents do.
type Reload struct {
	Rules string `json:"rules"` // nft (nft -f) or iptables (iptables-nft-restore)
}

// A Restore restores a device of a machine that weir has found, and those on top of it, to what they were before an event
// changed it: up or down, with their MTU, addresses and routes, without a limit or a Drop. The machine itself remembers, and does so too when it loses
// weir.
type Restore struct {
	Dev string `json:"dev"`
}

// Device returns the device that a step changes in a way that a Restore undoes, or "".
func (s Step) Device() string {
	switch {
	case s.Set != nil:
		return s.Set.Dev
	case s.Addr != nil:
		return s.Addr.Dev
	case s.Route != nil:
		return s.Route.Dev
	case s.Rate != nil:
		return s.Rate.Dev
	case s.Drop != nil:
		return s.Drop.Dev
	}
	return ""
}

// Restores is Inverse for the steps of an event on machines that weir has found.
func (p Plan) Restores(steps []Step) (undo []Step, err error) {
	for i, s := range slices.Backward(steps) {
		if s.Device() == "" {
			inverse, err := p.Inverse(steps[i : i+1])
			if err != nil {
				return nil, err
			}
			undo = append(undo, inverse...)
			continue
		}
		r := Step{In: s.In, Restore: &Restore{Dev: s.Device()}}
		if !slices.ContainsFunc(undo, func(u Step) bool { return u.In == r.In && u.Restore != nil && *u.Restore == *r.Restore }) {
			undo = append(undo, r)
		}
	}
	return undo, nil
}

// What a Flush and a Reload can name.
const (
	Conntrack = "conntrack"
	NFT       = "nft"
	IPTables  = "iptables"
)

// How many seconds a Command can take, and can be allowed to take: undoing an event has 30 s.
const (
	CommandTime    = 10
	MaxCommandTime = 25
)

// Seconds returns the timeout in force.
func (c Command) Seconds() int { return cmp.Or(c.Timeout, CommandTime) }

// Commands returns those of the event.
func (e Event) Commands() (all []Command) {
	for _, s := range slices.Concat(e.Do, e.Undo) {
		if s.Command != nil {
			all = append(all, *s.Command)
		}
	}
	return all
}

// Inverse returns the steps that undo steps, the last one first. The routes of p over a device that was down are set again,
// because the kernel has removed them (fib_sync_down_dev, net/ipv4/fib_semantics.c). An error names the first step whose
// inverse depends on what it replaced.
func (p Plan) Inverse(steps []Step) (undo []Step, err error) {
	for i, s := range slices.Backward(steps) {
		if s.Flush != nil || s.Reload != nil {
			continue // traffic fills the table again; the rules are the same
		}
		if s.Rate != nil && s.Rate.Rate > 0 && !p.queues(s.In) {
			undo = append(undo, Step{In: s.In, Rate: &Rate{Dev: s.Rate.Dev}})
			continue
		}
		inverse, ok := s.inverse()
		if !ok {
			return nil, fmt.Errorf("step %d: what it replaces is not known, so weir cannot undo it; say how (undo)", i+1)
		}
		undo = append(undo, inverse)
		if s.Set != nil && s.Set.Down {
			undo = append(undo, p.routes(s.In)...)
		}
	}
	return undo, nil
}

// queues reports whether p sets how devices of a place queue packets, which a Rate then replaces.
func (p Plan) queues(in string) bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool {
		return s.In == in && (s.Rate != nil || s.Delay != nil || s.Exec != nil && s.Exec.Argv[0] == "tc")
	})
}

// routes returns the steps that set routes in a place. Each replaces the same route, if it is still there.
func (p Plan) routes(in string) (steps []Step) {
	for _, s := range p.Steps {
		if s.Route != nil && s.In == in {
			steps = append(steps, s)
		}
	}
	return steps
}

func (s Step) inverse() (Step, bool) {
	switch {
	case s.Set != nil && s.Set.Up != s.Set.Down && s.Set.MTU == 0 && s.Set.Master == "":
		return Step{In: s.In, Set: &Set{Dev: s.Set.Dev, Up: s.Set.Down, Down: s.Set.Up}}, true
	case s.Addr != nil:
		a := *s.Addr
		a.Gone = !a.Gone
		return Step{In: s.In, Addr: &a}, true
	case s.Route != nil && s.Route.Gone: // one that was set can have replaced another
		r := *s.Route
		r.Gone = false
		return Step{In: s.In, Route: &r}, true
	case s.Rule != nil:
		r := *s.Rule
		r.Gone = !r.Gone
		return Step{In: s.In, Rule: &r}, true
	case s.Drop != nil:
		d := *s.Drop
		d.Gone = !d.Gone
		return Step{In: s.In, Drop: &d}, true
	case s.FDB != nil:
		f := *s.FDB
		f.Gone = !f.Gone
		return Step{In: s.In, FDB: &f}, true
	case s.Daemon != nil:
		again := map[string]string{Kill: Start, Terminate: Start, Stop: Continue}[s.Daemon.Do]
		return Step{In: s.In, Daemon: &Daemon{Name: s.Daemon.Name, Do: again}}, again != ""
	case s.Endpoint != nil:
		e := *s.Endpoint
		e.Gone = !e.Gone
		return Step{In: s.In, Endpoint: &e}, true
	case s.Policy != nil:
		p := *s.Policy
		p.Gone = !p.Gone
		return Step{In: s.In, Policy: &p}, true
	case s.Command != nil:
		return Step{In: s.In, Command: &Command{Argv: s.Command.Undo, Timeout: s.Command.Timeout}}, len(s.Command.Undo) > 0
	}
	return Step{}, false
}

// eventShell is Step.shell for the kinds that only events have; nil for others.
func (s Step) eventShell() []fmt.Stringer {
	inside := command{"ip", "netns", "exec", s.In}
	switch {
	case s.Daemon != nil:
		return []fmt.Stringer{text(fmt.Sprintf("# %s the daemon %s in %s", s.Daemon.Do, s.Daemon.Name, s.In))}
	case s.Endpoint != nil:
		method := "PUT"
		if s.Endpoint.Gone {
			method = "DELETE"
		}
		return []fmt.Stringer{append(inside, "curl", "-sfX", method, fmt.Sprintf("http://127.0.0.1:%d/endpoints/%s", APIPort, s.Endpoint.Service))}
	case s.Command != nil:
		return []fmt.Stringer{append(inside, s.Command.Argv...)}
	case s.Drop != nil:
		return []fmt.Stringer{append(inside, s.Drop.Argv()...)}
	case s.Announce != nil:
		return []fmt.Stringer{append(inside, "arping", "-U", "-c", "1", "-I", s.Announce.Dev, s.Announce.Addr.String())}
	case s.Flush != nil:
		return []fmt.Stringer{append(inside, "conntrack", "-F")}
	case s.Restore != nil:
		return []fmt.Stringer{text(fmt.Sprintf("# make %s of %s what it was", s.Restore.Dev, s.In))}
	case s.Reload != nil && s.Reload.Rules == IPTables:
		return []fmt.Stringer{append(inside, "sh", "-c", "iptables-nft-save | iptables-nft-restore")}
	case s.Reload != nil:
		return []fmt.Stringer{append(inside, "sh", "-c", "{ echo flush ruleset; nft list ruleset; } | nft -f -")}
	}
	return nil
}
