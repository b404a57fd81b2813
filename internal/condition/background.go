package condition

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/unit"
)

// A Stress is a program that uses the CPUs of both ends during a trial.
type Stress struct {
	Share float64 // of the time of each CPU, 0 to 1; 0 is no stress
	// Split uses the whole CPU for the first Share of the window and none of it afterwards.
	// Otherwise the share is spread evenly.
	Split bool
}

// A Load is a probe that runs over the path while another one measures.
type Load struct {
	Probe string  // its name; "" is no load
	Share float64 // of its capacity on the path (probe.Capacity), above 0 and up to 1; 0 is flat out
}

// Background returns what levels (name to level) ask to run during a trial.
func Background(levels map[string]string) (s Stress, l Load, err error) {
	if s, err = read(levels, "stress", ParseStress); err == nil {
		l, err = read(levels, "load", ParseLoad)
	}
	return s, l, err
}

// Clients returns how many concurrent clients levels (name to level) ask for; 0 if unset.
func Clients(levels map[string]string) (int, error) { return read(levels, "clients", ParseClients) }

// read parses the level of the condition called name, if levels have one.
func read[T any](levels map[string]string, name string, parse func(string) (T, error)) (v T, err error) {
	if level, ok := levels[name]; ok {
		if v, err = parse(level); err != nil {
			err = fmt.Errorf("condition %s: %w", name, err)
		}
	}
	return v, err
}

// Network returns the levels that describe the path, without background and clients.
func Network(levels map[string]string) map[string]string {
	of := Of(levels)
	delete(of, "clients")
	delete(of, "event")
	delete(of, "load")
	delete(of, "stress")
	return of
}

// ParseStress reads a level of stress.
func ParseStress(level string) (Stress, error) {
	digits, split := strings.CutPrefix(level, "split-")
	share, err := unit.ParsePercent(digits)
	switch {
	case err != nil || share > 1:
		return Stress{}, fmt.Errorf("invalid level %q: want 0, a share such as 50%%, or split-50%%, up to 100%%", level)
	case share > 0 && share < minShare:
		return Stress{}, fmt.Errorf("%q is less than %g%% and would be lost in the noise", level, 100*minShare)
	}
	return Stress{Share: share, Split: split && share > 0}, nil
}

// minShare is the smallest share that can be distinguished from none.
const minShare = 0.01

// ParseLoad reads a level of load.
func ParseLoad(level string) (Load, error) {
	if level == "idle" {
		return Load{}, nil
	}
	name, digits, paced := strings.Cut(level, "@")
	l := Load{Probe: name}
	if name == "" {
		return l, fmt.Errorf("%q names no probe: want idle, NAME or NAME@50%%", level)
	}
	if !paced {
		return l, nil
	}
	var err error
	if l.Share, err = unit.ParsePercent(digits); err != nil || l.Share < minShare || l.Share > 1 {
		return Load{}, fmt.Errorf("%q: the share after @ is outside %g%%..100%%", level, 100*minShare)
	}
	return l, nil
}

// maxClients leaves each client a port of the server, and is more than one machine can run at once.
const maxClients = 1000

// ParseClients reads a level of clients.
func ParseClients(level string) (int, error) {
	n, err := strconv.Atoi(level)
	if err != nil || n < 1 || n > maxClients {
		return 0, fmt.Errorf("invalid number of clients %q: want 1 to %d", level, maxClients)
	}
	return n, nil
}

// parseEvent takes every name: the study knows its events.
func parseEvent(level string) (string, error) { return level, nil }

// noChange makes a set function that checks the level with parse and leaves the topology alone.
func noChange[T any](parse func(string) (T, error)) func(string, *topo.Topology) error {
	return func(level string, _ *topo.Topology) error {
		_, err := parse(level)
		return err
	}
}
