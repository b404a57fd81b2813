package trial

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/record"
)

// smallest returns the smallest mean packet size of the path's devices, bytes with headers, in the
// direction of the bulk and including the warm-up. A packet that is whole there passed the path in
// one piece. It is 0 when no device can tell.
func (s *Setup) smallest(x *execution) (size float64) {
	for _, e := range s.Plan.Expect {
		if !e.MustCarry || e.Joined || !e.Concerns(s.Client, s.Server) {
			continue
		}
		d, name := x.readings.Last.Nodes[e.In].Sub(x.readings.First.Nodes[e.In]), "dev."+e.Dev+"."
		dir := "rx"
		if d[name+"tx_bytes"] > d[name+"rx_bytes"] {
			dir = "tx"
		}
		if packets := d[name+dir+"_packets"]; packets > 0 && (size == 0 || d[name+dir+"_bytes"]/packets < size) {
			size = d[name+dir+"_bytes"] / packets
		}
	}
	return size
}

// daemons adds the CPU time that the processes of services on all nodes used between two readings,
// seconds apart. Threads that did not run are omitted.
func daemons(r *record.Result, from, to reading, seconds float64) {
	sum := map[string]float64{}
	for node, c := range to.Nodes {
		for name, used := range c.Sub(from.Nodes[node]).CPUTime() {
			sum[name] += used
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sum)) {
		if sum[name] > 0 || !strings.Contains(name, "/") {
			program, thread := sample.Program(name)
			add(r, record.CPUProgram.Thread("", program, thread), "core", sum[name]/seconds)
		}
	}
}

// quiet is how many cores an idle machine can keep busy. More means another program.
const quiet = 0.1

// surroundings adds the hosts' state outside the run, from before the client to after it: the mean
// clock frequency, and the cores that other programs used in user mode and in the kernel. The
// kernel counts the machine's time in ticks and a process's by the clock, so in a short trial
// either can be off by some tenths of a core and negative; the sum over neighboring trials is not.
// Softirqs count as system time of the interrupted process, so the second value is a lower bound.
//
// On machines that others use, each value also exists per machine: a program on one machine disturbs only the
// trials of that machine.
func (s *Setup) surroundings(r *record.Result, x *execution) {
	all := spans(s.hosts(), x.readings.First, x.readings.Last)
	if !s.Site.Private {
		for id, host := range all {
			s.ownTime(x, id, host.Counters)
		}
	}
	surround(r, x, all, "")
	for _, h := range s.named() {
		if host, ok := all[h.ID]; ok {
			surround(r, x, map[string]span{h.ID: host}, s.nameOf(h))
		}
	}
}

// surround adds the state of some hosts together, or the state of one host under its name.
func surround(r *record.Result, x *execution, all map[string]span, name string) {
	hz, known, cpus := 0.0, len(all) > 0, 0
	var before, after float64 // of the machine whose CPUs are farthest apart
	for id, host := range all {
		from, to := x.readings.First.Hosts[id].Counters, x.readings.Last.Hosts[id].Counters
		hz += (from["frequency"] + to["frequency"]) / 2 / float64(len(all))
		_, ok := host.Counters["proc.user"]
		known = known && ok
		cpus += to.CPUs()
		before, after = max(before, from[sample.CoreToCore]), max(after, to[sample.CoreToCore])
	}
	if hz > 0 {
		add(r, record.CPUFrequency.On(name), "Hz", hz)
	}
	if cpus > 0 {
		add(r, record.CPUs.On(name), "core", float64(cpus))
	}
	if before > 0 && after > 0 {
		add(r, record.CoreToCore.On(name), "s", before)
		add(r, record.CoreToCoreAfter.On(name), "s", after)
	}
	if !known {
		return // no source; counters.json has the reason
	}
	add(r, record.OthersUser.On(name), "core", perSecond(all, "cpu.user", "cpu.nice")-perSecond(all, "proc.user"))
	add(r, record.OthersSystem.On(name), "core", perSecond(all, "cpu.system")-perSecond(all, "proc.system"))
}

// ownTime adds the CPU time of the trial's processes on a host to the growth of the host's counters: the
// processes of both ends' agents, if both run there.
func (s *Setup) ownTime(x *execution, id string, grown sample.Counters) {
	for _, name := range slices.Compact([]string{s.Client.Node, s.Server.Node}) {
		if s.Site.Nodes[name].Host().ID != id {
			continue
		}
		from, to := x.readings.First.Nodes[name], x.readings.Last.Nodes[name]
		_, begun := from["proc.user"]
		_, ended := to["proc.user"]
		if !begun || !ended {
			delete(grown, "proc.user")
			delete(grown, "proc.system")
			return
		}
		for _, mode := range []string{"proc.user", "proc.system"} {
			grown[mode] += to[mode] - from[mode]
		}
	}
}

// named returns the hosts with values of their own: those that others can use.
func (s *Setup) named() []*target.Host {
	if s.Site.Private {
		return nil
	}
	return s.hosts()
}

// nameOf returns the name of a host of the trial.
func (s *Setup) nameOf(h *target.Host) string {
	end := s.Client
	if s.Site.Nodes[end.Node].Host().ID != h.ID {
		end = s.Server
	}
	return cmp.Or(h.Name, end.Host)
}

func add(r *record.Result, k record.Key, unit string, v float64) {
	r.Values = append(r.Values, k.Value(unit, v))
}

// cost adds what the hosts of the ends and the engine's own threads spent in the measured window.
func (s *Setup) cost(r *record.Result, m probe.Measured, x *execution) {
	s.machine(r, m, x)
	s.own(r, x)
}

// machine adds what the hosts of the ends spent in the measured window.
func (s *Setup) machine(r *record.Result, m probe.Measured, x *execution) {
	if s.sharing > 0 {
		record.AtOnce.Put(r.Observed, s.sharing+1)
	}
	from, to := x.readings.Begin, x.readings.End
	for _, m := range to.Missing {
		r.Notes = append(r.Notes, record.NoteCounters.With(m))
	}
	all := spans(s.hosts(), from, to)
	if len(all) == 0 {
		r.Notes = append(r.Notes, record.NoteNoCPUTime.With())
		return
	}
	idle := s.idle().Busy()
	if idle > quiet && s.Site.Private {
		r.Notes = append(r.Notes, record.NoteBusyBefore.With(fmt.Sprintf("%.2f", idle)))
	}
	gross := usage(all)
	u := gross.plus(-1, s.idle())
	for _, h := range s.named() {
		if busy := s.Idle[h.ID].Busy(); busy > quiet {
			r.Notes = append(r.Notes, record.NoteBusyHost.With(s.nameOf(h)))
		}
		if _, ok := s.Idle[h.ID]; !ok {
			r.Notes = append(r.Notes, record.NoteIdleUnknown.With(s.nameOf(h)))
		}
		add(r, record.CPUSteal.On(s.nameOf(h)), "core", perSecond(map[string]span{h.ID: all[h.ID]}, "cpu.steal")-s.Idle[h.ID].Steal)
	}
	if s.sharing > 0 { // only steal can be separated
		add(r, record.CPUSteal.Whole(), "core", u.Steal)
		s.packets(r, m, x)
		return
	}
	add(r, record.CPUBusy.Whole(), "core", u.Busy())
	add(r, record.CPUUser.Whole(), "core", u.User)
	add(r, record.CPUSystem.Whole(), "core", u.System)
	add(r, record.CPUSoftirq.Whole(), "core", u.Softirq)
	add(r, record.CPUSoftirqBusiest.Whole(), "core", busiest(all))
	add(r, record.CPUIRQ.Whole(), "core", u.IRQ)
	add(r, record.CPUSteal.Whole(), "core", u.Steal)
	add(r, record.CPUGuest.Whole(), "core", u.Guest)
	own := 0.0
	for _, host := range all {
		own += host.own / host.seconds
	}
	add(r, record.CPUWeir.Whole(), "core", own)
	add(r, record.CPUIdleBaseline.Whole(), "core", idle)
	busy := u.Busy()
	if cpus := capacity(all); cpus > 0 {
		// Both parts of the difference, because it can be below zero by the steps of /proc/stat.
		add(r, record.CPUUsed.Whole(), "core", gross.Used)
		add(r, record.CPUUsedBaseline.Whole(), "core", s.idle().Used)
		add(r, record.CPUAccounted.Whole(), "1", 1+(gross.Busy()-gross.Used)/cpus)
		busy = u.Used
	}
	daemons(r, from, to, s.window(all, s.Server.Node))
	add(r, record.SoftirqRx.Whole(), "1/s", perSecond(all, "softirq.net_rx"))
	add(r, record.SoftirqTx.Whole(), "1/s", perSecond(all, "softirq.net_tx"))

	if background := s.background(); background != "" {
		// The probe's CPU time and packets cannot be separated from other traffic's: omit their
		// cost.
		record.CPUIncludes.Put(r.Observed, background)
		return
	}
	s.packets(r, m, x)
	perWork(r, [3]record.Quantity{record.CPUPerBit, record.CPUPerPacket, record.CPUPerTransaction}, busy)
}

// perWork adds cores divided by the rates of work that r has, as costs per bit, packet and transaction. It adds
// no cost for a time that is not above 0, which the counters cannot resolve.
func perWork(r *record.Result, costs [3]record.Quantity, cores float64) {
	for i, rate := range []record.Quantity{record.Throughput, record.PacketRate, record.Transactions} {
		if v, ok := r.Get(rate); ok && v.Value > 0 && cores > 0 {
			unit := []string{"s/bit", "s/packet", "s/transaction"}[i]
			add(r, costs[i].Whole(), unit, cores/v.Value)
		}
	}
}

// window returns the measured window by the clock of a node's host, seconds.
func (s *Setup) window(all map[string]span, node string) float64 {
	return all[s.Site.Nodes[node].Host().ID].seconds
}

// ends returns the sender and the receiver of the data. Acknowledgements go the other way.
func (s *Setup) ends(m probe.Measured) (sender, receiver plan.End) {
	if m.Reversed {
		return s.Server, s.Client
	}
	return s.Client, s.Server
}

// packets adds what one end's device counted of the data in the measured window.
func (s *Setup) packets(r *record.Result, m probe.Measured, x *execution) {
	from, to := x.readings.Begin, x.readings.End
	sender, receiver := s.ends(m)
	at, dir := receiver, "rx"
	if receiver.Node == receiver.Host && sender.Host == receiver.Host {
		at, dir = sender, "tx" // packets from pods to their own host bypass its device
	}
	dev := to.Nodes[at.Node].Sub(from.Nodes[at.Node])
	bytes, packets := dev["dev."+at.Dev+"."+dir+"_bytes"], dev["dev."+at.Dev+"."+dir+"_packets"]
	if packets > 0 {
		add(r, record.PacketSize.Whole(), "byte", bytes/packets)
	}
	if size := s.smallest(x); size > 0 {
		add(r, record.PacketSizePath.Whole(), "byte", size)
	}
	_, stream := r.Get(record.Throughput)
	if _, known := r.Get(record.PacketRate); stream && !known && packets > 0 {
		// TCP does not know its packets. These are packets handed to the device, each of which
		// segmentation offload can have made of many.
		add(r, record.PacketRate.Whole(), "packet/s", packets/s.window(spans(s.hosts(), from, to), at.Node))
	}
}
