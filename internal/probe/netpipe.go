package probe

import (
	"fmt"
	"math"
	"regexp"
	"strconv"

	"github.com/weir-bench/weir/record"
)

// NetPIPE measures round trips of messages over plain TCP with NPtcp (NetPIPE
// 3.7): what an MPI library adds is the difference to the same tool over MPI.
// It repeats a number of messages and not for a time: see MPI.
type NetPIPE struct {
	Bandwidth bool `yaml:"bandwidth"` // and not the time, is what the probe is for
	Size      int  `yaml:"size"`      // bytes of a message; 0 is 8, or 1 MiB for bandwidth
}

// Check reports an option that cannot be.
func (p NetPIPE) Check() error { return p.mpi().Check() }

func (p NetPIPE) mpi() MPI { return MPI{Bandwidth: p.Bandwidth, Size: p.Size} }

// Habits implements the optional method of foreign probes.
func (NetPIPE) Habits() Habits { return MPI{}.Habits() }

// Commands implements Probe.
func (p NetPIPE) Commands(w Window) (server, client []string) {
	args := append([]string{"NPtcp", "-P", strconv.Itoa(int(w.Server.Port()))}, netpipeArgs(p.mpi().size())...)
	return args, append(args[:len(args):len(args)], "-h", address(w.Server.Addr()))
}

// Parse implements Probe. Values: half.rtt and bandwidth, as MPI's.
func (p NetPIPE) Parse(out Output) (Measured, error) {
	m, err := parseNetPIPE(out.ClientErr, p.mpi().size(), p.Bandwidth)
	if err != nil {
		return Measured{}, fmt.Errorf("NPtcp: %w", err)
	}
	return m, nil
}

// netpipeArgs measure one size, without sizes around it (perturbation), and
// leave no file behind.
func netpipeArgs(size int) []string {
	s := strconv.Itoa(size)
	return []string{"-l", s, "-u", s, "-p", "0", "-n", strconv.Itoa(messages(size)), "-o", "/dev/null"}
}

// netpipeRE is a line of NetPIPE's table:
//
//	0:   65536 bytes    415 times -->   6926.94 Mbps in      72.18 usec
var netpipeRE = regexp.MustCompile(`(?m)^ *\d+: +(\d{1,10}) bytes +(\d{1,10}) times --> +([0-9.]{1,20}) Mbps in +([0-9.]{1,20}) usec *\r?$`)

// parseNetPIPE reads the table, which NetPIPE prints on its standard error.
// The time is half of a round trip, the lowest of the trials (netpipe.c 3.7.2);
// a trial is so many times as the table says. Its Mbps are 2^20 bit/s.
func parseNetPIPE(b []byte, size int, bandwidth bool) (Measured, error) {
	f, err := row(b, netpipeRE, size)
	if err != nil {
		return Measured{}, err
	}
	return pingPong(f[3]/1e6, f[2]*(1<<20), f[0], f[1], bandwidth)
}

// pingPong is what n messages of size bytes to and fro tell: the time of half a
// round trip (s), and the bandwidth that the tool printed (bit/s), which must tell
// the same. It has too few digits for small messages, and is taken from the time.
func pingPong(half, printed, size, n float64, bandwidth bool) (Measured, error) {
	if half <= 0 {
		return Measured{}, fmt.Errorf("a message took %g s", half)
	}
	if n != float64(messages(int(size))) {
		return Measured{}, fmt.Errorf("%.0f messages were measured, asked for %d", n, messages(int(size)))
	}
	rate := size * 8 / half
	if math.Abs(rate-printed) > 0.01*rate+pingPongDigit {
		return Measured{}, fmt.Errorf("%.0f bytes in %g s are %.4g bit/s, not %.4g", size, half, rate, printed)
	}
	m := Measured{Protocol: "tcp", Moved: n * size, Messages: n, Values: []record.Value{
		{Name: "half.rtt", Unit: "s", Value: half},
		{Name: "bandwidth", Unit: "bit/s", Value: rate},
	}}
	if bandwidth {
		m.Values[0], m.Values[1] = m.Values[1], m.Values[0]
	}
	return m, nil
}

// pingPongDigit is half of the last digit that is printed: 0.01 MB/s.
const pingPongDigit = 4e4 // bit/s
