package trial

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/record"
)

// A reading is counters at one moment.
type reading struct {
	At      time.Time                  `json:"at"`
	Machine sample.Counters            `json:"machine"` // CPU and softirqs of the whole machine
	Nodes   map[string]sample.Counters `json:"nodes"`   // devices and protocols, by node
	Missing []string                   `json:"missing,omitempty"`
	// Own is the CPU time that this process has used, seconds.
	Own float64 `json:"own"`
	// Clock is the mean frequency of the CPUs, Hz; 0 where the machine does not tell.
	Clock float64 `json:"clock,omitempty"`
}

// readings of a trial: First and Last are around the client and hold everything,
// Begin and End around its measured window. What Begin reads is read while the
// traffic flows and takes CPU time from it, so it is little.
type readings struct{ First, Begin, End, Last reading }

// readAll reads what says where the packets of each trial went, and who used the
// machine, which they have in common.
func readAll(ss []Setup) []reading {
	site := ss[0].Site
	r := reading{At: time.Now()}
	r.machine(site.Machine, sample.Stat{}, sample.Softirqs{}, sample.Softnet{}, sample.AllProcesses{})
	if hz, err := sample.Frequency(site.Machine); err == nil {
		r.Clock = hz
	} else if !errors.Is(err, sample.ErrNoFrequency) {
		r.missing([]error{err})
	}
	rs := make([]reading, len(ss))
	for i, s := range ss {
		rs[i] = r
		rs[i].Nodes, rs[i].Missing = map[string]sample.Counters{}, slices.Clone(r.Missing)
		for _, name := range s.observed() {
			rs[i].node(site.Nodes[name], sample.NetDev{}, sample.SNMP{}, sample.Reassembly{})
		}
	}
	return rs
}

// readCost reads what a window costs. The machine comes first, because that is
// what has to fit the window.
func (s *Setup) readCost() reading {
	r := reading{At: time.Now(), Own: own(), Nodes: map[string]sample.Counters{}}
	r.machine(s.Site.Machine, sample.Stat{}, sample.Softirqs{})
	r.node(s.Site.Nodes[s.Server.Node], sample.NetDev{})
	if s.others > 0 {
		return r
	}
	for _, name := range s.Plan.Daemons() { // their services carry the traffic
		r.node(s.Site.Nodes[name], sample.Processes{})
	}
	return r
}

// own returns the CPU time that this process has used, in seconds.
func own() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // only for a bad argument (getrusage(2))
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func (r *reading) machine(root fs.FS, sources ...sample.Sampler) {
	c, errs := sample.Read(root, sources)
	r.Machine = c
	r.missing(errs)
}

func (r *reading) node(n target.Node, sources ...sample.Sampler) {
	c, errs := sample.Read(n.FS(), sources)
	if have := r.Nodes[n.Name()]; have != nil {
		maps.Copy(have, c)
	} else {
		r.Nodes[n.Name()] = c
	}
	r.missing(errs)
}

func (r *reading) missing(errs []error) {
	for _, err := range errs {
		r.Missing = append(r.Missing, err.Error())
	}
}

// observed lists the nodes whose devices matter, sorted.
func (s *Setup) observed() []string {
	names := append(s.Plan.Daemons(), s.Client.Node, s.Server.Node)
	for _, e := range s.Plan.Expect {
		names = append(names, e.In)
	}
	names = slices.DeleteFunc(names, func(place string) bool { return !s.alone(place) })
	slices.Sort(names)
	return slices.Compact(names)
}

// alone reports whether no trial but this one uses a place.
func (s *Setup) alone(place string) bool {
	return s.others == 0 || slices.Contains([]string{s.Client.Node, s.Client.Host, s.Server.Node, s.Server.Host}, place)
}

// Usage is how many cores were busy, by mode; steal is what the hypervisor took.
type Usage struct{ User, System, IRQ, Softirq, Steal, Guest float64 }

// Busy is the machine's own work, its guests' included.
func (u Usage) Busy() float64 { return u.User + u.System + u.IRQ + u.Softirq + u.Guest }

func (u Usage) minus(v Usage) Usage {
	return Usage{u.User - v.User, u.System - v.System, u.IRQ - v.IRQ, u.Softirq - v.Softirq, u.Steal - v.Steal, u.Guest - v.Guest}
}

// usage is what was busy between two readings of /proc/stat.
func usage(from, to sample.Counters, elapsed time.Duration) Usage {
	d, t := to.Sub(from), elapsed.Seconds()
	return Usage{
		User:    (d["cpu.user"] + d["cpu.nice"]) / t,
		System:  d["cpu.system"] / t,
		IRQ:     d["cpu.irq"] / t,
		Softirq: d["cpu.softirq"] / t,
		Steal:   d["cpu.steal"] / t,
		Guest:   d["cpu.guest"] / t,
	}
}

// MeasureIdle watches the machine for d while nothing of the run is active.
func MeasureIdle(d time.Duration) (Usage, error) {
	root := os.DirFS("/")
	read := func() (sample.Counters, error) {
		c, errs := sample.Read(root, []sample.Sampler{sample.Stat{}})
		return c, errors.Join(errs...)
	}
	start := time.Now()
	from, err := read()
	if err != nil {
		return Usage{}, err
	}
	time.Sleep(d)
	to, err := read()
	if err != nil {
		return Usage{}, err
	}
	return usage(from, to, time.Since(start)), nil
}

// smallest returns the bytes of a packet, headers included, on that device of the
// path on which packets were smallest, in the direction of the bulk and with the
// warm-up. What was one packet there passed all of the path in one piece. It is 0
// when no device of the path is known to tell.
func (s *Setup) smallest(x *execution) (size float64) {
	for _, e := range s.Plan.Expect {
		if !e.MustCarry || e.Joined || !e.Concerns(s.Client, s.Server) {
			continue
		}
		d, name := x.readings.Last.Nodes[e.In].Sub(x.readings.First.Nodes[e.In]), "dev."+e.Dev+"."
		way := "rx"
		if d[name+"tx_bytes"] > d[name+"rx_bytes"] {
			way = "tx"
		}
		if packets := d[name+way+"_packets"]; packets > 0 && (size == 0 || d[name+way+"_bytes"]/packets < size) {
			size = d[name+way+"_bytes"] / packets
		}
	}
	return size
}

// daemonTime returns what the processes of services used between two readings,
// on all hosts together, by name; of threads, those that ran at all.
func daemonTime(from, to reading) (vs []record.Value) {
	sum := map[string]float64{}
	for node, c := range to.Nodes {
		for name, seconds := range c.Sub(from.Nodes[node]).CPUTime() {
			sum[name] += seconds
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sum)) {
		if sum[name] > 0 || !strings.Contains(name, "/") {
			vs = append(vs, record.Value{Name: name, Unit: "s", Value: sum[name]})
		}
	}
	return vs
}

// quiet is how many cores an idle machine may keep busy. More is another
// program, whose share of the CPU during a trial nobody knows.
const quiet = 0.1

// surroundings adds what the machine did beside the run: its mean clock frequency,
// and how many cores were used by programs that do not belong to the run, in user
// mode and in the kernel, from before the client to after it. The kernel counts
// the machine's time in ticks and a process's by the clock, so that in a short
// trial either may be off by some tenths of a core and negative; the sum over
// neighbouring trials is not. Softirqs count as a process's system time when they
// interrupt it, so the second is a lower bound.
func surroundings(r *record.Result, x *execution) {
	from, to := x.readings.First, x.readings.Last
	if to.Clock > 0 {
		r.Values = append(r.Values, record.Value{Name: "cpu.frequency", Unit: "Hz", Value: (from.Clock + to.Clock) / 2})
	}
	if _, ok := to.Machine["proc.user"]; !ok {
		return // no source; counters.json has it
	}
	d, elapsed := to.Machine.Sub(from.Machine), to.At.Sub(from.At).Seconds()
	r.Values = append(r.Values,
		record.Value{Name: "others.user", Unit: "core", Value: (d["cpu.user"] + d["cpu.nice"] - d["proc.user"]) / elapsed},
		record.Value{Name: "others.system", Unit: "core", Value: (d["cpu.system"] - d["proc.system"]) / elapsed})
}

// cost adds what the machine spent during the measured window.
func (s *Setup) cost(r *record.Result, x *execution) {
	if s.others > 0 {
		r.Observed["cost"] = fmt.Sprintf("not measured: %d pairs at once", s.others+1)
	}
	from, to := x.readings.Begin, x.readings.End
	for _, m := range to.Missing {
		r.Warnings = append(r.Warnings, "counters: "+m)
	}
	if from.At.IsZero() || to.At.IsZero() {
		r.Warnings = append(r.Warnings, "no CPU time: the tool ended before its window did, or does not tell when that is")
		return
	}
	if s.Idle.Busy() > quiet {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%.2f cores were busy before the run began: other programs disturb it, and CPU times are rough", s.Idle.Busy()))
	}
	u := usage(from.Machine, to.Machine, to.At.Sub(from.At)).minus(s.Idle)
	add := func(name, unit string, v float64) {
		r.Values = append(r.Values, record.Value{Name: name, Unit: unit, Value: v})
	}
	if s.others > 0 { // whose time it was nobody can tell, but for what was taken from all
		add("cpu.steal", "core", u.Steal)
		s.packets(r, x)
		return
	}
	add("cpu.busy", "core", u.Busy())
	add("cpu.user", "core", u.User)
	add("cpu.system", "core", u.System)
	add("cpu.softirq", "core", u.Softirq)
	add("cpu.irq", "core", u.IRQ)
	add("cpu.steal", "core", u.Steal)
	add("cpu.guest", "core", u.Guest)
	add("cpu.weir", "core", (to.Own-from.Own)/to.At.Sub(from.At).Seconds())
	add("cpu.idle-baseline", "core", s.Idle.Busy())
	window := to.At.Sub(from.At).Seconds()
	for _, v := range daemonTime(from, to) {
		add("cpu."+v.Name, "core", v.Value/window)
	}
	soft := to.Machine.Sub(from.Machine)
	add("softirq.net_rx", "1/s", soft["softirq.net_rx"]/window)
	add("softirq.net_tx", "1/s", soft["softirq.net_tx"]/window)

	if beside := s.beside(); beside != "" {
		// Whose part of the CPU time is the probe's, and of the packets when there is
		// other traffic, nobody can tell: no cost of a packet, and no packets.
		r.Observed["cpu.includes"] = beside
		return
	}
	s.packets(r, x)
	for _, per := range []struct{ of, name, unit string }{
		{"throughput", "cpu.per.bit", "s/bit"},
		{"packet.rate", "cpu.per.packet", "s/packet"},
		{"transactions", "cpu.per.transaction", "s/transaction"},
	} {
		if v, ok := r.Get(per.of); ok && v.Value > 0 && u.Busy() > 0 {
			add(per.name, per.unit, u.Busy()/v.Value)
		}
	}
}

// packets adds what the device of one end counted in the measured window.
func (s *Setup) packets(r *record.Result, x *execution) {
	from, to := x.readings.Begin, x.readings.End
	window := to.At.Sub(from.At).Seconds()
	at, way := s.Server, "rx"
	if s.Server.Node == s.Server.Host && s.Client.Host == s.Server.Host {
		at, way = s.Client, "tx" // what pods send to their own host does not pass its device
	}
	dev := to.Nodes[at.Node].Sub(from.Nodes[at.Node])
	bytes, packets := dev["dev."+at.Dev+"."+way+"_bytes"], dev["dev."+at.Dev+"."+way+"_packets"]
	if packets > 0 {
		r.Values = append(r.Values, record.Value{Name: "packet.size", Unit: "byte", Value: bytes / packets})
	}
	if size := s.smallest(x); size > 0 {
		r.Values = append(r.Values, record.Value{Name: "packet.size.path", Unit: "byte", Value: size})
	}
	_, stream := r.Get("throughput")
	if _, known := r.Get("packet.rate"); stream && !known && packets > 0 {
		// TCP does not know its packets: these are what the device was handed,
		// each of which segmentation offload may have made of many.
		r.Values = append(r.Values, record.Value{Name: "packet.rate", Unit: "packet/s", Value: packets / window})
	}
}
