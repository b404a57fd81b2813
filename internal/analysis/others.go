package analysis

import (
	"cmp"
	"slices"
)

// Others is the CPU time of programs outside the run. It lacks programs that started and ended
// between two samples.
type Others struct {
	Seconds  float64   `json:"seconds"`  // of watching
	Programs []Program `json:"programs"` // by CPU time, the longest first
	// Machines holds Seconds by machine, by its own clock, where the run used several; Seconds is then
	// the longest.
	Machines map[string]float64 `json:"machines,omitempty"`
}

type Program struct {
	Machine string  `json:"machine,omitempty"` // "" is this machine
	PID     int     `json:"pid"`
	Name    string  `json:"name"`
	CPU     float64 `json:"cpu"` // s
}

// Add adds the CPU time of programs during another period, in seconds.
func (o *Others) Add(seconds float64, programs ...Program) {
	o.Seconds += seconds
	for _, p := range programs {
		if i := slices.IndexFunc(o.Programs, func(q Program) bool { return q.Machine == p.Machine && q.PID == p.PID && q.Name == p.Name }); i >= 0 {
			o.Programs[i].CPU += p.CPU
		} else {
			o.Programs = append(o.Programs, p)
		}
	}
	slices.SortStableFunc(o.Programs, func(a, b Program) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.PID, b.PID))
	})
}

// AddOn is Add for the programs of one of several machines.
func (o *Others) AddOn(machine string, seconds float64, programs ...Program) {
	if o.Machines == nil {
		o.Machines = map[string]float64{}
	}
	o.Machines[machine] += seconds
	for i := range programs {
		programs[i].Machine = machine
	}
	o.Add(0, programs...)
	o.Seconds = max(o.Seconds, o.Machines[machine])
}

// Cores returns the cores that a program used on average.
func (o Others) Cores(p Program) float64 {
	return p.CPU / max(cmp.Or(o.Machines[p.Machine], o.Seconds), 1e-9)
}
