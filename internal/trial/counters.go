package trial

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

// A reading is all counters at one moment.
type reading struct {
	At      time.Time                  `json:"at"`
	Machine sample.Counters            `json:"machine"` // CPU and softirqs of the whole machine
	Nodes   map[string]sample.Counters `json:"nodes"`   // devices and protocols, by node
	Missing []string                   `json:"missing,omitempty"`
}

// readings of a trial: First and Last are around the client, Begin and End
// around its measured window.
type readings struct{ First, Begin, End, Last reading }

var (
	machineSources = []sample.Sampler{sample.Stat{}, sample.Softirqs{}, sample.Softnet{}}
	nodeSources    = []sample.Sampler{sample.NetDev{}, sample.SNMP{}}
)

// read reads the machine first, because that is what has to fit the window.
func (s *Setup) read() reading {
	client := s.Site.Nodes[s.Client.Node]
	r := reading{At: time.Now(), Nodes: map[string]sample.Counters{}}
	var errs []error
	r.Machine, errs = sample.Read(client.FS(), machineSources)
	for _, name := range s.observed() {
		c, more := sample.Read(s.Site.Nodes[name].FS(), nodeSources)
		r.Nodes[name] = c
		errs = append(errs, more...)
	}
	for _, err := range errs {
		r.Missing = append(r.Missing, err.Error())
	}
	return r
}

// observed lists the nodes whose devices matter, sorted.
func (s *Setup) observed() []string {
	names := []string{s.Client.Node, s.Server.Node}
	for _, e := range s.Plan.Expect {
		names = append(names, e.In)
	}
	slices.Sort(names)
	return slices.Compact(names)
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

// quiet is how many cores an idle machine may keep busy. More is another
// program, whose share of the CPU during a trial nobody knows.
const quiet = 0.1

// cost adds what the machine spent during the measured window.
func (s *Setup) cost(r *record.Result, x *execution) {
	from, to := x.readings.Begin, x.readings.End
	for _, m := range to.Missing {
		r.Warnings = append(r.Warnings, "counters: "+m)
	}
	if from.At.IsZero() || to.At.IsZero() {
		r.Warnings = append(r.Warnings, "the tool ended before its window did: no CPU time")
		return
	}
	if s.Idle.Busy() > quiet {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%.2f cores were busy before the run began: other programs disturb it, and CPU times are rough", s.Idle.Busy()))
	}
	u := usage(from.Machine, to.Machine, to.At.Sub(from.At)).minus(s.Idle)
	add := func(name, unit string, v float64) {
		r.Values = append(r.Values, record.Value{Name: name, Unit: unit, Value: v})
	}
	add("cpu.busy", "core", u.Busy())
	add("cpu.user", "core", u.User)
	add("cpu.system", "core", u.System)
	add("cpu.softirq", "core", u.Softirq)
	add("cpu.irq", "core", u.IRQ)
	add("cpu.steal", "core", u.Steal)
	add("cpu.guest", "core", u.Guest)
	add("cpu.idle-baseline", "core", s.Idle.Busy())
	window := to.At.Sub(from.At).Seconds()
	soft := to.Machine.Sub(from.Machine)
	add("softirq.net_rx", "1/s", soft["softirq.net_rx"]/window)
	add("softirq.net_tx", "1/s", soft["softirq.net_tx"]/window)

	if beside := s.beside(); beside != "" {
		// Whose part of the CPU time is the probe's, and of the packets when there is
		// other traffic, nobody can tell: no cost of a packet, and no packets.
		r.Found["cpu.includes"] = beside
		return
	}
	dev := to.Nodes[s.Server.Node].Sub(from.Nodes[s.Server.Node])
	bytes, packets := dev["dev."+s.Server.Dev+".rx_bytes"], dev["dev."+s.Server.Dev+".rx_packets"]
	if packets > 0 {
		add("packet.size", "byte", bytes/packets)
	}
	_, stream := r.Get("throughput")
	if _, known := r.Get("packet.rate"); stream && !known && packets > 0 {
		// TCP does not know its packets: these are what the device was handed,
		// each of which segmentation offload may have made of many.
		add("packet.rate", "packet/s", packets/window)
	}
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
