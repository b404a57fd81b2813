package sample

// A Series is what one trial sampled on one host while its client ran: a file of the trial.
//
// Every column holds the growth of a counter since the sample before, so a column has one number less
// than At. Sums of a column are differences of the counter itself.
type Series struct {
	Format int    `json:"format"` // of this file, 1
	Host   string `json:"host"`   // its ID
	// Begin and End are the measured window by the host's clock, like At: ns after the first sample.
	Begin int64   `json:"begin"`
	End   int64   `json:"end"`
	At    []int64 `json:"at"` // strictly ascending, the first is 0

	CPUs    int              `json:"cpus"`    // online, 0 if their number changed
	Modes   map[string][]int `json:"modes"`   // of all CPUs together by mode, in steps of 10 ms (USER_HZ)
	Threads []ThreadColumn   `json:"threads"` // those that ran, by CPU time
	Devices []DeviceColumn   `json:"devices"` // of the trial's ends
}

// A ThreadColumn is the CPU time of one thread.
type ThreadColumn struct {
	PID   int    `json:"pid"` // 0 for a thread of the kernel
	TID   int    `json:"tid"`
	Place string `json:"place,omitempty"` // whose network namespace it is in; "" is the machine's own
	Name  string `json:"name"`            // process, or process/thread
	Used  []int  `json:"us"`              // µs
}

// A DeviceColumn is the traffic of a device in one direction.
type DeviceColumn struct {
	Place   string `json:"place"`
	Dev     string `json:"dev"`
	Dir     string `json:"dir"` // rx or tx, as the device counts
	End     string `json:"end"` // client or server
	Bytes   []int  `json:"bytes"`
	Packets []int  `json:"packets"`
}
