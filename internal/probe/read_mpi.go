package probe

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/weir-bench/weir/record"
)

// The first lines and the rows of OSU's tables: bytes, then µs or MB/s of 10^6 bytes (osu_bw.c), then
// columns of -f and the validation.
var (
	osuLatencyRE   = regexp.MustCompile(`^MPI\S* Latency Test$`)
	osuBandwidthRE = regexp.MustCompile(`^MPI\S* Bandwidth Test$`)

	osuHeadRE  = regexp.MustCompile(`(?m)^# OSU `)
	osuTitleRE = regexp.MustCompile(`(?m)^# OSU (.* Test)(?: v(\S+))? *$`)
	osuRowRE   = regexp.MustCompile(`^(\d{1,10}) +(\d+\.\d+)((?: +\d+(?:\.\d+)?)*)(?: +Pass)? *$`)

	netpipeHeadRE = regexp.MustCompile(`(?m)^ *\d+: +\d+ bytes +\d+ times -->`)
)

// readOSU reads every row of osu_latency's and osu_bw's tables, one or several. A table has no end mark: in a log or on
// a page, the first line that does not begin with a number follows it.
func readOSU(b []byte) (out []Statement, _ error) {
	for _, part := range sections(b, osuTitleRE) {
		m := osuTitleRE.FindSubmatch(part)
		p := MPI{Tool: "osu"}
		kind, name, unit, scale := "osu-latency", record.HalfRTT, "s", 1e-6
		switch title := string(m[1]); {
		case osuLatencyRE.MatchString(title): // not of Broadcast, Multi, … Latency
		case osuBandwidthRE.MatchString(title):
			kind, name, unit, scale, p.Bandwidth = "osu-bandwidth", record.Bandwidth, "bit/s", 8e6, true
		default:
			return nil, fmt.Errorf("%.60q is not osu_latency or osu_bw", title)
		}
		before, ended := len(out), false
		for line := range bytes.Lines(part) {
			row := osuRowRE.FindSubmatch(bytes.TrimSuffix(line, []byte("\n")))
			switch text := bytes.TrimSpace(line); {
			case len(text) == 0 || text[0] == '#':
				continue
			case row == nil && len(out) > before && (text[0] < '0' || text[0] > '9'):
				ended = true
				continue
			case ended && row == nil:
				continue
			case ended:
				return nil, fmt.Errorf("the row %.60q follows the end of its table", text)
			case row == nil:
				return nil, fmt.Errorf("%.60q is not a row of the table", text)
			case !bytes.HasSuffix(line, []byte("\n")):
				return nil, errors.New("cut off: the last row does not end")
			}
			r := statement(kind, p, "")
			r.Levels["size"] = string(row[1])
			record.Tool.Put(r.Observed, strings.TrimSpace("OSU micro-benchmarks "+string(m[2])))
			r.add(name, unit, digits(row[2])*scale)
			out = append(out, r)
		}
		if len(out) == before {
			return nil, errors.New("a table without rows: cut off, or the test failed")
		}
	}
	return out, nil
}

// readNetPIPE reads every row of NetPIPE's table. Only NPtcp prints the sizes of its socket buffers; the
// tables of its other programs look alike.
func readNetPIPE(b []byte) (out []Statement, _ error) {
	for line := range bytes.Lines(b) {
		if !netpipeHeadRE.Match(line) {
			continue
		}
		row := netpipeRE.FindSubmatch(bytes.TrimSuffix(line, []byte("\n")))
		if row == nil || !bytes.HasSuffix(line, []byte("\n")) {
			return nil, fmt.Errorf("cut off: the row %.60q does not end", bytes.TrimSpace(line))
		}
		f, err := numbers(row[1:])
		if err != nil {
			return nil, err
		}
		half, rate, bits := f[3].times(1e-6), f[2].times(1<<20), 8*f[0].value
		if half.value <= 0 || !near(rounded{bits, 0}.over(half), rate) {
			return nil, fmt.Errorf("%.0f bytes in %g s are not %.6g bit/s", f[0].value, half.value, rate.value)
		}
		r := statement("", NetPIPE{}, "")
		if r.maybe = "netpipe-tcp"; bytes.Contains(b, []byte("Send and receive buffers are ")) {
			r.Kind = r.maybe
		}
		r.Levels["size"] = whole(f[0].value)
		r.add(record.HalfRTT, "s", half.value)
		r.add(record.Bandwidth, "bit/s", bits/half.value)
		out = append(out, r)
	}
	return out, nil
}
