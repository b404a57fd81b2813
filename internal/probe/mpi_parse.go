package probe

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/weir-bench/weir/record"
)

// mpi4pyRE is the table of mpi4py.bench pingpong (mpi4py 4.0 and later): bytes,
// MB/s (10^6), the mean and the standard deviation of half a round trip, and the
// number of samples.
//
//	# Size [B]  Bandwidth [MB/s] | Time Mean [s] ± StdDev [s]  Samples
//	        64              3.22 | 1.9871373e-05 ± 1.1808e-04    10000
var mpi4pyRE = regexp.MustCompile(`(?m)^ *(\d{1,10}) +([0-9.]{1,20}) \| ([0-9.]{1,20}e[-+]\d{1,2}) ± \S{1,20} +(\d{1,10}) *\r?$`)

// parseMPI4Py reads what the first rank printed.
//
// A rank that starts without the other measures messages to itself and does not say
// so: the counters of the devices reveal it.
func (p MPI) parseMPI4Py(b []byte) (Measured, error) {
	f, err := row(b, mpi4pyRE, p.size())
	if err != nil {
		return Measured{}, err
	}
	size, half, n := f[0], f[2], f[3]
	return pingPong(half, f[1]*8e6, size, n, p.Bandwidth)
}

// osuRE is the table of osu_latency and osu_bw: bytes, and µs or MB/s (10^6).
var (
	osuRE   = regexp.MustCompile(`(?m)^(\d{1,10}) +([0-9.]{1,20}) *\r?$`)
	osuHead = regexp.MustCompile(`(?m)^# OSU MPI\S* (Latency|Bandwidth) Test v(\S+) *\r?$`)
)

// parseOSU reads what the first rank printed. The first line names the program;
// Program can be the wrong one.
func (p MPI) parseOSU(b []byte) (Measured, error) {
	if len(b) == 0 {
		return Measured{}, errNoOutput
	}
	head, asked := osuHead.FindSubmatch(b), "Latency"
	if p.Bandwidth {
		asked = "Bandwidth"
	}
	if head == nil || string(head[1]) != asked {
		return Measured{}, fmt.Errorf("output %.60q is not from the OSU MPI %s Test", b, asked)
	}
	f, err := row(b, osuRE, p.size())
	if err != nil {
		return Measured{}, err
	}
	size, v, n := f[0], f[1], float64(p.iterations())
	if v <= 0 {
		return Measured{}, fmt.Errorf("%s of %g", asked, v)
	}
	m := Measured{Protocol: "tcp", Moved: n * size, Messages: n, Observed: map[string]string{"tool": "OSU micro-benchmarks " + string(head[2])}}
	if p.Bandwidth {
		m.Moved *= osuWindow // messages can share a packet; answers cannot
		m.Values = []record.Value{{Name: "bandwidth", Unit: "bit/s", Value: v * 8e6}}
	} else {
		m.Values = []record.Value{{Name: "half.rtt", Unit: "s", Value: v / 1e6}}
	}
	return m, nil
}

var errNoOutput = errors.New("no output: the tool was killed, or refused its command line")

// row returns the numbers of the only line that re matches. The first is the size of
// a message, which must be size.
func row(b []byte, re *regexp.Regexp, size int) ([]float64, error) {
	if len(b) == 0 {
		return nil, errNoOutput
	}
	rows := re.FindAllSubmatch(b, -1)
	if len(rows) != 1 {
		return nil, fmt.Errorf("%d result lines, want 1: the output ends with %q", len(rows), b[max(0, len(b)-200):])
	}
	var f []float64
	for _, s := range rows[0][1:] {
		v, err := strconv.ParseFloat(string(s), 64)
		if err != nil {
			return nil, err
		}
		f = append(f, v)
	}
	if f[0] != float64(size) {
		return nil, fmt.Errorf("measured messages of %.0f bytes, asked for %d", f[0], size)
	}
	return f, nil
}
