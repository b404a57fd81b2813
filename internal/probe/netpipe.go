package probe

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/record"
)

// NetPIPE measures round trips over plain TCP with NPtcp (NetPIPE 3.7). Its difference to NetPIPE
// over MPI is the cost of the MPI library. Like MPI, it sends a fixed number of messages.
type NetPIPE struct {
	Bandwidth bool `yaml:"bandwidth"` // report bandwidth first instead of time
	Size      int  `yaml:"size"`      // bytes of a message; 0 is 8, or 1 MiB for bandwidth
}

func (p NetPIPE) Check() error { return p.mpi().Check() }

func (p NetPIPE) mpi() MPI { return MPI{Bandwidth: p.Bandwidth, Size: p.Size} }

func (p NetPIPE) Info() Info {
	i := Info{
		Title: "TCP message latency (NetPIPE)", Short: "TCP message latency", Unit: "s",
		About:    "half a round trip of a message over plain TCP, by NetPIPE",
		Method:   "Half the time of one message there and one back: the best of three trials.",
		Tools:    []facts.ToolInfo{{Program: "NPtcp", Package: "netpipe-tcp"}},
		NoWarmup: true, StartsLate: true, Takes: mpiTakes, AtMost: mpiAtMost,
	}
	if p.Bandwidth {
		i.Unit = "bit/s"
	}
	return i
}

func (p NetPIPE) Commands(w Window) (server, client []string) {
	args := func(port string) []string {
		return append([]string{"NPtcp", "-P", port}, netpipeArgs(p.mpi().size())...)
	}
	return args(port(w)), append(args(callPort(w)), "-h", address(w.call().Addr()))
}

func (p NetPIPE) Parse(out Output) (Measured, error) {
	m, err := parseNetPIPE(out.ClientErr, p.mpi().size(), p.Bandwidth)
	return checked("NPtcp", m, err)
}

// netpipeArgs selects one size, without neighboring sizes (perturbation) and without an output
// file.
func netpipeArgs(size int) []string {
	s := strconv.Itoa(size)
	return []string{"-l", s, "-u", s, "-p", "0", "-n", strconv.Itoa(messages(size)), "-o", "/dev/null"}
}

// netpipeRE is a line of NetPIPE's table:
//
//	0:   65536 bytes    415 times -->   6926.94 Mbps in      72.18 usec
var netpipeRE = regexp.MustCompile(`(?m)^ *\d+: +(\d{1,10}) bytes +(\d{1,10}) times --> +([0-9.]{1,20}) Mbps in +([0-9.]{1,20}) usec *\r?$`)

// parseNetPIPE reads the table, which NetPIPE prints on standard error: the number of messages per
// trial, Mbps of 2^20 bit/s, and half a round trip, the lowest of the trials (netpipe.c 3.7.2). Time and
// bandwidth must agree within the rounding of both: NetPIPE prints 0.35 µs for 0.346 µs. Bandwidth is
// computed from the time, because it has more digits for small messages.
func parseNetPIPE(b []byte, size int, bandwidth bool) (Measured, error) {
	f, err := row(b, netpipeRE, size)
	if err != nil {
		return Measured{}, err
	}
	half, rate, n := f[3].times(1e-6), f[2].times(1<<20), f[1].value
	if half.value <= 0 {
		return Measured{}, fmt.Errorf("impossible: a message took %g s", half.value)
	}
	if n != float64(messages(size)) {
		return Measured{}, fmt.Errorf("measured %.0f messages, asked for %d", n, messages(size))
	}
	bits := 8 * float64(size)
	// A message lasts at least half a unit of the last digit, or it would be printed as 0.
	least, most := bits/(half.value+half.rounding), bits/(half.value-half.rounding)
	const exact = 1e-9 // relative floating-point error
	if rate.value < least*(1-exact)-rate.rounding || rate.value > most*(1+exact)+rate.rounding {
		return Measured{}, fmt.Errorf("%d bytes in %g s are %.6g bit/s, not %.6g", size, half.value, bits/half.value, rate.value)
	}
	m := Measured{Protocol: "tcp", Moved: n * float64(size), Messages: n, Values: []record.Value{
		{Name: record.HalfRTT, Unit: "s", Value: half.value},
		{Name: record.Bandwidth, Unit: "bit/s", Value: bits / half.value},
	}}
	if bandwidth {
		m.Values[0], m.Values[1] = m.Values[1], m.Values[0]
	}
	return m, nil
}
