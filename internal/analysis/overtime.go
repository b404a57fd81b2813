package analysis

// An OverTime is CPU time and traffic inside the trials of one cell, aligned at the begin of the measured
// window. Only trials whose window is long enough were sampled.
type OverTime struct {
	Cell
	Trials int     `json:"trials"` // sampled
	Of     int     `json:"of"`     // trials that count
	CPUs   int     `json:"cpus"`   // of the machine; 0 if unknown
	Step   float64 `json:"step"`   // s between points
	Window float64 `json:"window"` // s, median of the trials
	// Times are the middles of the steps, s since the window began; negative during the warm-up. Every
	// Course has one point per time.
	Times []float64 `json:"times"`
	// Modes are the busy cores of the machine by mode, in the order of CourseModes: they stack.
	Modes []Course `json:"modes"`
	// Threads are shares of one CPU, the busiest first.
	Threads []Course `json:"threads"`
	// Throughput is what reached the receiving end's device, in bit/s with headers, and Packets the
	// same in packets (as the device counts them). Nil if no device tells.
	Throughput *Course `json:"throughput,omitempty"`
	Packets    *Course `json:"packets,omitempty"`
}

// CourseModes are the modes of OverTime.Modes, as in /proc/stat (proc_stat(5)).
var CourseModes = []string{"user", "system", "softirq", "irq", "guest", "steal"}

// A Course is one quantity over time, summed up over the trials of a cell.
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

// OverTime returns the values inside trials for every cell whose trials were sampled, in the order of
// the run's tables.
func (r *Run) OverTime() []OverTime { return nil }
