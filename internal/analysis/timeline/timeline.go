// Package timeline follows CPU time and traffic inside the trials of each cell.
//
// It must not compare networks: what happened inside a trial explains its value, and is none.
package timeline

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/stat"
)

// A Timeline is CPU time and traffic inside the trials of one cell, aligned at the start of the measured
// window. Only trials with a long window were sampled.
type Timeline struct {
	analysis.Cell
	// Host is the ID of the sampled machine if the trials used several, whose CPUs and threads are apart.
	Host   string  `json:"host,omitempty"`
	Trials int     `json:"trials"` // sampled
	Of     int     `json:"of"`     // trials that count
	CPUs   int     `json:"cpus"`   // of the machine; 0 if unknown
	Step   float64 `json:"step"`   // s between points
	Window float64 `json:"window"` // s, median of the trials
	// Times are the middles of the steps, s since the window began; negative during the warm-up. Every
	// Course has one point per time.
	Times []float64 `json:"times"`
	// Modes are the busy cores of the machine by mode, in the order of Modes. They stack: all but
	// steal add up to Used, because the kernel counts most of them at ticks and misses short pieces.
	Modes []Course `json:"modes"`
	// Used is the complement of idle, which the kernel measures by the clock: cores in use.
	Used *Course `json:"used,omitempty"`
	// Threads are shares of one CPU, the busiest first.
	Threads []Course `json:"threads"`
	// Throughput is what reached the receiving end's device, in bit/s with headers, and Packets the
	// same in packets (as the device counts them). Nil if no device was counted.
	Throughput *Course `json:"throughput,omitempty"`
	Packets    *Course `json:"packets,omitempty"`
}

// Modes are the modes of Timeline.Modes, as in /proc/stat (proc_stat(5)).
var Modes = []string{"user", "system", "softirq", "irq", "guest", "steal"}

// A Course is one quantity over time, summarized over the trials of a cell.
type Course struct {
	Name  string `json:"name"`            // of a mode, a thread or a device
	Place string `json:"place,omitempty"` // of a thread or device: host or pod; "" is the machine's own
	Unit  string `json:"unit"`            // core, bit/s, packet/s
	// Median, Low and High are over trials at each time; Low and High are the quartiles.
	Median []float64 `json:"median"`
	Low    []float64 `json:"low"`
	High   []float64 `json:"high"`
	Mean   float64   `json:"mean"` // of the medians inside the window
}

const (
	leastSteps  = 10    // of a window: fewer have no shape
	finest      = 0.1   // s, the smallest Step: /proc/stat counts in hundredths of a second
	lead        = 1.0   // s before the window to show, at most
	tail        = 0.2   // s after it
	linesAtMost = 6     // threads of a Timeline
	leastLine   = 0.05  // share of a CPU of the least busy of them
	leastMode   = 0.002 // of all CPUs: less is not visible
	mostPoints  = 1200  // of a course
	reversed    = 2     // times as many bytes go to the client when it receives the bulk
)

// Of returns the timelines of all cells whose trials were sampled, in the order of the run's tables.
func Of(r *analysis.Run) (out []Timeline) {
	for t, row := range r.Rows() {
		byHost := map[string][]sample.Series{}
		var hosts []string
		for _, s := range r.Inside(row) {
			if !Shaped(s) {
				continue
			}
			if byHost[s.Host] == nil {
				hosts = append(hosts, s.Host)
			}
			byHost[s.Host] = append(byHost[s.Host], s)
		}
		for _, h := range hosts {
			o := Timeline{Cell: t.Cell(*row), Trials: len(byHost[h]), Of: row.Counted()}
			if len(hosts) > 1 {
				o.Host = h
			}
			if o.fill(byHost[h]) {
				out = append(out, o)
			}
		}
	}
	return out
}

// Shaped reports whether a window has enough samples for a Timeline, which leaves the others out.
func Shaped(s sample.Series) bool { return stepsIn(s) >= leastSteps }

// stepsIn counts the samples in a window.
func stepsIn(s sample.Series) (n int) {
	for _, at := range s.At {
		if s.Begin <= at && at <= s.End {
			n++
		}
	}
	return n
}

// fill computes the courses; false if the trials share no time.
func (o *Timeline) fill(all []sample.Series) bool {
	var windows, steps, before, after []float64
	for _, s := range all {
		windows = append(windows, seconds(s.End-s.Begin))
		steps = append(steps, seconds(s.End-s.Begin)/float64(stepsIn(s)))
		before = append(before, seconds(s.Begin))
		after = append(after, seconds(s.At[len(s.At)-1]-s.Begin))
		if o.CPUs = max(o.CPUs, s.CPUs); s.CPUs != all[0].CPUs {
			o.CPUs = 0
		}
	}
	o.Window, o.Step = stat.Middle(windows), max(finest, round(stat.Middle(steps), finest))
	const rounding = 1e-6
	first, last := -int(min(stat.Middle(before), lead)/o.Step+rounding), int(min(stat.Middle(after), o.Window+tail)/o.Step+rounding)
	if last-first < 2 || last-first > mostPoints {
		return false
	}
	for i := first; i < last; i++ {
		o.Times = append(o.Times, (float64(i)+0.5)*o.Step)
	}
	for _, mode := range Modes {
		c := o.course(mode, "", "core", all, func(s sample.Series) []float64 { return modeColumn(s, mode) }, 1.0/sample.UserHZ)
		if c.Mean >= leastMode*float64(max(1, o.CPUs)) {
			o.Modes = append(o.Modes, c)
		}
	}
	if o.CPUs > 0 {
		idle := o.course("in use", "", "core", all, func(s sample.Series) []float64 { return modeColumn(s, "idle", "iowait", "steal") }, 1.0/sample.UserHZ)
		idle.complement(float64(o.CPUs))
		o.Used = &idle
		o.share()
	}
	o.threads(all)
	o.traffic(all)
	return true
}

// share divides Used among the modes in proportion.
func (o *Timeline) share() {
	for i, used := range o.Used.Median {
		sum := 0.0
		for _, m := range o.Modes {
			if m.Name != "steal" {
				sum += m.Median[i]
			}
		}
		for _, m := range o.Modes {
			if m.Name != "steal" && sum > 0 {
				for _, v := range [][]float64{m.Median, m.Low, m.High} {
					v[i] *= used / sum
				}
			}
		}
	}
	for i := range o.Modes {
		o.Modes[i].Mean = o.meanInside(o.Modes[i].Median)
	}
}

// meanInside returns the mean of a course inside the window.
func (o *Timeline) meanInside(v []float64) float64 {
	var inside []float64
	for i, at := range o.Times {
		if 0 < at && at < o.Window {
			inside = append(inside, v[i])
		}
	}
	m, _ := analysis.MeanSD(inside)
	return m
}

// threads adds the courses of the busiest threads: in each trial, of those with one name in one place the
// busiest.
func (o *Timeline) threads(all []sample.Series) {
	type id struct{ place, name string }
	columns, means := map[id][][]float64{}, map[id]float64{}
	var ids []id
	for n, s := range all {
		best := map[id]float64{}
		for _, t := range s.Threads {
			k := id{t.Place, t.Name}
			share, ok := s.Share(t)
			if !ok || share <= best[k] {
				continue
			}
			if columns[k] == nil {
				columns[k] = make([][]float64, len(all))
				ids = append(ids, k)
			}
			means[k] += (share - best[k]) / float64(len(all))
			best[k], columns[k][n] = share, floats(t.Used)
		}
	}
	slices.SortFunc(ids, func(a, b id) int {
		return cmp.Or(cmp.Compare(means[b], means[a]), cmp.Compare(a.place, b.place), cmp.Compare(a.name, b.name))
	})
	for _, k := range ids[:min(len(ids), linesAtMost)] {
		if means[k] < leastLine {
			break
		}
		n := -1
		o.Threads = append(o.Threads, o.course(k.name, k.place, "core", all, func(sample.Series) []float64 { n++; return columns[k][n] }, 1e-6))
	}
}

// traffic adds what the receiving end's device counted. The direction of the bulk decides which end
// receives; packets from a pod to its own host bypass the host's device.
func (o *Timeline) traffic(all []sample.Series) {
	pick := func(s sample.Series) sample.Device {
		by := map[string]sample.Device{}
		for _, d := range s.Devices {
			by[d.End+" "+d.Dir] = d
		}
		server, client := by["server rx"], by["client rx"]
		switch {
		case sum(client.Bytes) > reversed*sum(server.Bytes) && sum(client.Bytes) > sum(by["client tx"].Bytes):
			return client
		case sum(server.Bytes) == 0:
			return by["client tx"]
		}
		return server
	}
	all = slices.DeleteFunc(slices.Clone(all), func(s sample.Series) bool { return pick(s).Dir == "" }) // unknown is not 0
	if len(all) == 0 {
		return
	}
	chosen := pick(all[0])
	of := func(unit string, column func(sample.Device) []int, scale float64) *Course {
		c := o.course(chosen.Dev, chosen.Place, unit, all, func(s sample.Series) []float64 { return floats(column(pick(s))) }, scale)
		return &c
	}
	o.Throughput = of("bit/s", func(d sample.Device) []int { return d.Bytes }, 8)
	o.Packets = of("packet/s", func(d sample.Device) []int { return d.Packets }, 1)
}

// course resamples a column of every trial to o.Times and summarizes it. scale turns the column's
// numbers into the unit times seconds. A column of nil is a counter that did not grow.
func (o *Timeline) course(name, place, unit string, all []sample.Series, column func(sample.Series) []float64, scale float64) Course {
	c := Course{Name: name, Place: place, Unit: unit}
	trials := make([][]float64, len(all))
	for i, s := range all {
		trials[i] = o.resample(s, column(s), scale)
	}
	for i := range o.Times {
		var v []float64
		for _, t := range trials {
			if !math.IsNaN(t[i]) {
				v = append(v, t[i])
			}
		}
		slices.Sort(v)
		c.Median, c.Low, c.High = append(c.Median, stat.Middle(v)), append(c.Low, quantile(v, 0.25)), append(c.High, quantile(v, 0.75))
	}
	c.Mean = o.meanInside(c.Median)
	return c
}

// resample returns the rate of a column in each step of o; NaN where less than half of a step is known.
func (o *Timeline) resample(s sample.Series, column []float64, scale float64) []float64 {
	grown, known := make([]float64, len(o.Times)), make([]float64, len(o.Times))
	first := o.Times[0] - o.Step/2
	for i := range len(s.At) - 1 {
		from, to := seconds(s.At[i]-s.Begin), seconds(s.At[i+1]-s.Begin)
		v := 0.0
		if column != nil {
			v = column[i]
		}
		if v < 0 {
			continue // unknown
		}
		for b := max(0, int((from-first)/o.Step)); b < len(grown) && first+float64(b)*o.Step < to; b++ {
			low := first + float64(b)*o.Step
			if in := min(to, low+o.Step) - max(from, low); in > 0 {
				grown[b] += scale * v * in / (to - from)
				known[b] += in
			}
		}
	}
	for b := range grown {
		if grown[b] /= known[b]; known[b] < o.Step/2 {
			grown[b] = math.NaN()
		}
	}
	return grown
}

// complement turns idle cores into used ones.
func (c *Course) complement(cpus float64) {
	for i := range c.Median {
		c.Median[i] = max(0, cpus-c.Median[i])
		c.Low[i], c.High[i] = max(0, cpus-c.High[i]), max(0, cpus-c.Low[i])
	}
	c.Mean = max(0, cpus-c.Mean)
}

// modeColumn sums modes over all CPUs. Time of nice programs is user time.
func modeColumn(s sample.Series, modes ...string) (out []float64) {
	for _, m := range s.Modes {
		if name := cmp.Or(map[string]string{"nice": "user"}[m.Mode], m.Mode); slices.Contains(modes, name) {
			if out == nil {
				out = make([]float64, len(m.Ticks))
			}
			for i, n := range m.Ticks {
				out[i] += max(0, float64(n))
			}
		}
	}
	return out
}

func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }

func round(v, to float64) float64 { return math.Round(v/to) * to }

func floats(column []int) (out []float64) {
	for _, n := range column {
		out = append(out, float64(n))
	}
	return out
}

func sum(column []int) (all int) {
	for _, n := range column {
		all += max(0, n)
	}
	return all
}

// quantile interpolates in a sorted list.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	j := min(i+1, len(sorted)-1)
	return sorted[i] + (at-float64(i))*(sorted[j]-sorted[i])
}
