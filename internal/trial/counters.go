package trial

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/weir-bench/weir/internal/diagnose"
	"github.com/weir-bench/weir/internal/plan"
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

	for _, per := range []struct{ of, name, unit string }{
		{"throughput", "cpu.per.bit", "s/bit"},
		{"packet.rate", "cpu.per.packet", "s/packet"},
		{"transactions", "cpu.per.transaction", "s/transaction"},
	} {
		if v, ok := r.Get(per.of); ok && v.Value > 0 && u.Busy() > 0 {
			add(per.name, per.unit, u.Busy()/v.Value)
		}
	}
	dev := to.Nodes[s.Server.Node].Sub(from.Nodes[s.Server.Node])
	if n := dev["dev."+s.Server.Dev+".rx_packets"]; n > 0 {
		add("packet.size", "byte", dev["dev."+s.Server.Dev+".rx_bytes"]/n)
	}
}

// path notes what the path offers, and the arithmetic ceiling of a link.
func (s *Setup) path(r *record.Result) {
	r.Found["path.mtu"] = strconv.Itoa(s.Plan.Path.MTU)
	r.Found["path.overhead"] = strconv.Itoa(s.Plan.Path.Overhead)
	if c := s.ceiling(r); c > 0 {
		r.Found["link"] = strconv.FormatFloat(s.LinkRate, 'f', -1, 64)
		r.Found["ceiling"] = strconv.FormatFloat(c, 'f', 0, 64)
	}
}

// ceiling returns the payload rate that the headers leave of the link, 0 when
// there is no limit or the probe did not say what it sends.
func (s *Setup) ceiling(r *record.Result) float64 {
	h := diagnose.Headers{Path: s.Plan.Path, Protocol: diagnose.Protocol(r.Found["protocol"]), IPv6: s.Server.Addr.Is6()}
	h.Datagram, _ = strconv.Atoi(r.Found["datagram"]) // absent for TCP
	if h.Protocol == "" || s.LinkRate == 0 || len(r.Values) == 0 {
		return 0
	}
	f := diagnose.Ceiling
	switch r.Values[0].Unit {
	case "bit/s":
	case "packet/s":
		f = diagnose.PacketCeiling
	default:
		return 0
	}
	c, err := f(s.LinkRate, h)
	if err != nil {
		r.Warnings = append(r.Warnings, err.Error())
		return 0
	}
	return c
}

// judge checks what the counters and the arithmetic say of the values.
func (s *Setup) judge(r *record.Result, x *execution) error {
	var errs []error
	if c := s.ceiling(r); c > 0 && diagnose.Impossible(r.Values[0].Value, c) {
		errs = append(errs, fmt.Errorf("%s is %.4g %s, more than the %.4g that the headers leave of the link",
			r.Values[0].Name, r.Values[0].Value, r.Values[0].Unit, c))
	}
	bytes, packets := delivered(r)
	for _, e := range s.Plan.Expect {
		from, to := x.readings.First.Nodes[e.In], x.readings.Last.Nodes[e.In]
		switch {
		case e.Carries && s.concerned(e):
			errs = append(errs, carried(e, to.Sub(from), bytes, packets))
		case e.NoFragments && !s.fragments(r):
			errs = append(errs, whole(e, to.Sub(from)))
		}
	}
	return errors.Join(errs...)
}

// concerned reports whether the trial's packets pass where e looks.
func (s *Setup) concerned(e plan.Expect) bool {
	if e.Across && s.Client.Host == s.Server.Host {
		return false
	}
	return slices.Contains([]string{s.Client.Node, s.Client.Host, s.Server.Node, s.Server.Host}, e.In)
}

// delivered returns the least that the devices of the path must have moved.
func delivered(r *record.Result) (bytes, packets float64) {
	window, _ := r.Get("window")
	throughput, _ := r.Get("throughput")
	transactions, _ := r.Get("transactions")
	return throughput.Value * window.Value / 8, math.Floor(transactions.Value * window.Value)
}

// carried proves that the device moved what the probe received. Both directions
// count: which one carries the bulk is the probe's business.
func carried(e plan.Expect, d sample.Counters, bytes, packets float64) error {
	name := "dev." + e.Dev + "."
	b, p := max(d[name+"rx_bytes"], d[name+"tx_bytes"]), max(d[name+"rx_packets"], d[name+"tx_packets"])
	if b < bytes || p < packets || p == 0 {
		return fmt.Errorf("%s of %s moved %.0f bytes in %.0f packets, but the probe received %.0f bytes and %.0f answers: the traffic took another path",
			e.Dev, e.In, b, p, bytes, packets)
	}
	return nil
}

// whole proves that nothing was fragmented on the way out or put together on the way in.
func whole(e plan.Expect, d sample.Counters) error {
	for _, name := range []string{"ip.FragCreates", "ip.ReasmReqds", "ip6.FragCreates", "ip6.ReasmReqds"} {
		if d[name] > 0 {
			return fmt.Errorf("%s: %s grew by %.0f: packets that fit the path's MTU were fragmented", e.In, name, d[name])
		}
	}
	return nil
}

// fragments reports whether the probe sends packets that the path has to fragment.
func (s *Setup) fragments(r *record.Result) bool {
	n, err := strconv.Atoi(r.Found["datagram"])
	headers := 20 + 8
	if s.Server.Addr.Is6() {
		headers = 40 + 8
	}
	return err == nil && n+headers > s.Plan.Path.MTU
}
