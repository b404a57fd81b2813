// Package condition holds what a study changes about a network between trials: MTU, link rate,
// offloads, GRO, distance, bridge-nf. Such a condition is a changed topology whose steps are the difference between
// two plans, so every condition works with every network. Stress, load and clients are programs that
// run in the background of a trial; they do not change the topology.
//
// It must not act, and it knows no network by name.
package condition

import (
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/unit"
)

// Bounds of a link's rate, bit/s: a full packet takes at most 12 s, and no link exceeds the upper
// one.
const (
	minRate = 1e3
	maxRate = 1e12
)

// A condition is a line of the table.
type condition struct {
	set   func(level string, t *topo.Topology) error // fails when level is not one
	about string                                     // describes its levels
}

// Ends is the condition that chooses the two ends, as plan.Between reads it.
const Ends = "ends"

func table() map[string]condition {
	return map[string]condition{
		"bridge-nf": {setBridgeNF, "whether bridges of hosts pass packets to netfilter, as the iptables rules of Docker and Kubernetes need: on or off; without this factor, a network does what its product does"},
		"clients":   {noChange(ParseClients), "how many clients use one server at the same time, each on its own host: 1, 9 (9 need hosts: 10)"},
		"delay":     {setDelay, "how long every packet between hosts is delayed, each way, such as 500us or 0"},
		"event":     {noChange(parseEvent), "what happens within the trial: none, or an event of the study (events)"},
		Ends:        {setEnds, "which ends exchange traffic: FROM-TO, each of them pod, host or another end of the network, such as pod-host; a number picks one of several, as in pod1-pod3"},
		"gro":       {setGRO, "whether devices of hosts and pods join the received packets of a flow before the IP stack: on or off; without this factor, tunnels do and veths do not, the kernel's defaults since 5.13"},
		"jitter":    {setJitter, "how much the delay of single packets differs, at most the delay: 50us is ±50us; packets stay in order"},
		"link":      {setLink, "the rate of every host's link, such as 1gbit, or none for no limit"},
		"load":      {noChange(ParseLoad), "a probe that runs over the same path during the trial: idle, NAME, or NAME@50% for a share of its capacity on the path"},
		"loss":      {setLoss, "the share of packets between hosts that is lost at random, each way, such as 0.1%"},
		"mtu":       {setMTU, "the MTU of the underlay in bytes"},
		"nic":       {setNIC, "what the hosts' underlay devices segment in hardware: full, tso (nothing inside tunnels) or none"},
		"offload":   {setOffload, "whether any device of a host or pod segments: on or off"},
		"rps":       {setRPS, "whether devices of hosts and pods spread received packets over CPUs, each flow to one: off, on, or a mask of CPUs in hexadecimal, such as 3; every level has networks of its own"},
		"stress":    {noChange(ParseStress), "the share of CPU time that a program on the CPUs of both ends uses: 0, 50%, or split-50% to use all of it in the first half of the window"},
	}
}

// Names returns the names of all conditions, sorted.
func Names() []string { return slices.Sorted(maps.Keys(table())) }

// About describes the levels of a condition.
func About(name string) string { return table()[name].about }

// Builds reports whether a condition changes how hosts and networks are built, so that it needs hosts
// that are weir's own. The others choose ends or run programs.
func Builds(name string) bool {
	_, known := table()[name]
	return known && !slices.Contains([]string{"clients", Ends, "event", "load", "stress"}, name)
}

// Far reports whether a factor changes the distance between hosts, for which a topology must be
// prepared (topo.Spec.Far).
func Far(name string) bool { return name == "delay" || name == "jitter" || name == "loss" }

// Of returns the levels that are conditions; the others are options of the probe.
func Of(levels map[string]string) map[string]string {
	of := map[string]string{}
	for k, v := range levels {
		if _, ok := table()[k]; ok {
			of[k] = v
		}
	}
	return of
}

// Apply returns t with the condition called name at level.
func Apply(name, level string, t topo.Topology) (topo.Topology, error) {
	c, ok := table()[name]
	if !ok {
		return topo.Topology{}, fmt.Errorf("condition %q is unknown (known: %s)", name, strings.Join(Names(), ", "))
	}
	if err := c.set(level, &t); err != nil {
		return topo.Topology{}, fmt.Errorf("condition %s: %w", name, err)
	}
	return t, nil
}

// Changed is a network under conditions, with the steps there and back.
type Changed struct {
	Do       []plan.Step // to apply to the base plan's network before the trial
	Undo     []plan.Step // to apply after it
	Plan     plan.Plan   // of the changed network; its Path and Expect hold in between
	Topology topo.Topology
}

// AtBuild returns the levels of conditions that a network must be built with, because no step changes
// them later. Every combination of them needs a network of its own.
func AtBuild(levels map[string]string) map[string]string {
	at := maps.Clone(levels)
	maps.DeleteFunc(at, func(name, _ string) bool { return name != "rps" })
	return at
}

// Change returns the steps that put network d under the conditions of levels (name to level). The
// network was built for base with AtBuild's part of them. Levels that change nothing give no steps.
func Change(d network.Driver, base topo.Topology, levels map[string]string) (Changed, error) {
	t, err := applyAll(AtBuild(levels), base)
	if err != nil {
		return Changed{}, err
	}
	from, err := network.Build(d, t)
	if err != nil {
		return Changed{}, err
	}
	if t, err = applyAll(levels, t); err != nil {
		return Changed{}, err
	}
	if err := t.Distance.Check(); err != nil {
		return Changed{}, fmt.Errorf("conditions delay, jitter and loss: %w", err)
	}
	if base.Exists && !reflect.DeepEqual(base, t) {
		return Changed{}, fmt.Errorf("%w: its hosts exist already, and weir does not change them", plan.ErrRebuild)
	}
	to, err := network.Build(d, t)
	if err != nil {
		return Changed{}, err
	}
	c := Changed{Plan: to, Topology: t}
	if c.Do, err = plan.Diff(from, to); err == nil {
		c.Undo, err = plan.Diff(to, from)
	}
	return c, err
}

func applyAll(levels map[string]string, t topo.Topology) (_ topo.Topology, err error) {
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		if t, err = Apply(name, levels[name], t); err != nil {
			return t, err
		}
	}
	return t, nil
}

func setRPS(level string, t *topo.Topology) error {
	switch level {
	case "off":
		t.RPS = topo.RPSOff
		return nil
	case string(topo.RPSAll):
		t.RPS = topo.RPSAll
		return nil
	}
	mask, ok := new(big.Int).SetString(level, 16)
	if !ok || mask.Sign() <= 0 || mask.Text(16) != level {
		return fmt.Errorf("invalid level %q: want off, on, or a mask of CPUs in hexadecimal, such as 3 for the first two", level)
	}
	if mask.BitLen() > maxCPUs {
		return fmt.Errorf("mask %q names CPU %d: the last possible one is %d", level, mask.BitLen()-1, maxCPUs-1)
	}
	t.RPS = topo.RPS(level)
	return nil
}

// LastCPU returns the highest CPU that a level of rps names; -1 for one that names none.
func LastCPU(level string) int {
	mask, ok := new(big.Int).SetString(level, 16)
	if !ok || level == "off" {
		return -1
	}
	return mask.BitLen() - 1
}

// maxCPUs is the largest number of CPUs that a kernel supports (arch/x86/Kconfig, NR_CPUS).
const maxCPUs = 8192

func setBridgeNF(level string, t *topo.Topology) error {
	switch t.BridgeNF = topo.BridgeNF(level); t.BridgeNF {
	case topo.BridgeNFOff, topo.BridgeNFOn:
		return nil
	}
	return fmt.Errorf("level %q is unknown (known: off, on)", level)
}

func setDelay(level string, t *topo.Topology) (err error) {
	t.Far = true
	t.Distance.Delay, err = parseDelay(level)
	return err
}

func setJitter(level string, t *topo.Topology) (err error) {
	t.Far = true
	t.Distance.Jitter, err = parseDelay(level)
	return err
}

// parseDelay checks a delay by itself; Change compares jitter and delay.
func parseDelay(level string) (time.Duration, error) {
	d, err := time.ParseDuration(level)
	if err != nil {
		return 0, fmt.Errorf("invalid duration %q: write it as 500us or 5ms", level)
	}
	return d, topo.Distance{Delay: d}.Check()
}

func setLoss(level string, t *topo.Topology) (err error) {
	t.Far = true
	if t.Distance.Loss, err = unit.ParsePercent(level); err != nil {
		return err
	}
	return topo.Distance{Loss: t.Distance.Loss}.Check()
}

// setEnds changes nothing: only the plan knows the ends.
func setEnds(level string, _ *topo.Topology) error {
	_, _, err := plan.SplitEnds(level)
	return err
}

func setMTU(level string, t *topo.Topology) error {
	least := topo.MinMTU
	if hasIPv6(*t) {
		least = topo.MinMTU6
	}
	mtu, err := strconv.Atoi(level)
	if err != nil || mtu < least || mtu > topo.MaxMTU {
		return fmt.Errorf("invalid MTU %q: want %d to %d bytes", level, least, topo.MaxMTU)
	}
	t.MTU = mtu
	return nil
}

func hasIPv6(t topo.Topology) bool {
	return t.PodAll.Addr().Is6() || slices.ContainsFunc(t.Hosts, func(h topo.Host) bool { return h.Addr.Addr().Is6() })
}

func setLink(level string, t *topo.Topology) error {
	if level == "none" {
		t.Rate = 0
		return nil
	}
	rate, err := ParseLink(level)
	if err != nil {
		return fmt.Errorf("%w; a link without a limit is \"none\"", err)
	}
	t.Rate = rate
	return nil
}

// ParseLink reads the rate of a host's link, bit/s.
func ParseLink(s string) (float64, error) {
	rate, err := unit.ParseRate(s)
	if err == nil && (rate < minRate || rate > maxRate) {
		err = fmt.Errorf("%s is outside %s to %s", s, unit.Format(minRate, "bit/s"), unit.Format(maxRate, "bit/s"))
	}
	return rate, err
}

func setNIC(level string, t *topo.Topology) (err error) {
	t.NIC, err = topo.ParseNIC(level)
	return err
}

func setGRO(level string, t *topo.Topology) error {
	switch t.GRO = topo.GRO(level); t.GRO {
	case topo.GROOff, topo.GROOn:
		return nil
	}
	return fmt.Errorf("level %q is unknown (known: off, on)", level)
}

func setOffload(level string, t *topo.Topology) error {
	if level != "on" && level != "off" {
		return fmt.Errorf("level %q is unknown (known: off, on)", level)
	}
	t.NoOffload = level == "off"
	return nil
}
