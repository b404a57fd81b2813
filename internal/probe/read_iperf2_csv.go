package probe

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/record"
)

// Lines of -y C before 2.2 (ReportCSV.c): time, four of addresses, stream (-1 is the sum), interval, bytes,
// bit/s; in UDP also jitter in ms, lost, datagrams (-1 at a sender of 2.1), % and reordered.
var iperf2CSVLineRE = regexp.MustCompile(`(?m)^(\d{14})(?:\.\d+)?,([^,\n]*,\d*,[^,\n]*,\d*),(-?\d+),(\d+\.\d+)-(\d+\.\d+),(\d+),(\d+)(?:,(\d+\.\d+),(-?\d+),(-?\d+),[^,\n]*,[^,\n]*)?$`)

// csvStream is the longest interval of a stream that begins at 0.
type csvStream struct {
	peers                 string
	bytes, end            float64 // s
	jitter, lost, packets float64 // ms
	last                  float64 // s: the end of the last interval
}

// readIperf2CSV reads one test. A UDP client prints its own lines and those of the server's report.
func readIperf2CSV(b []byte) ([]Statement, error) {
	sent, got := map[string]*csvStream{}, map[string]*csvStream{}
	if !bytes.HasSuffix(b, []byte("\n")) {
		return nil, errors.New("cut off: the last line does not end")
	}
	unanswered := false
	for i, line := range strings.Split(strings.TrimRight(string(b), "\n"), "\n") {
		m := iperf2CSVLineRE.FindSubmatch([]byte(line))
		if m == nil && (line == "" || line[0] < '0' || line[0] > '9') {
			continue // a warning
		}
		if m == nil {
			return nil, fmt.Errorf("line %d is not from -y C: %.60q", i+1, line)
		}
		of, id := sent, string(m[3])
		if len(m[8]) > 0 {
			if unanswered = unanswered || string(m[10]) == "-1"; string(m[10]) == "-1" {
				continue
			}
			of = got
		}
		s, start, end := of[id], digits(m[4]), digits(m[5])
		if s == nil {
			s = &csvStream{peers: string(m[2])}
			of[id] = s
		}
		if s.peers != string(m[2]) {
			return nil, fmt.Errorf("stream %s has two pairs of addresses: import a file of each test", id)
		}
		if s.last = max(s.last, end); start == 0 && end > s.end {
			s.bytes, s.end, s.jitter, s.lost, s.packets = digits(m[6]), end, digits(m[8]), digits(m[9]), digits(m[10])
		}
	}
	of, udp := sent, len(got) > 0
	if udp {
		of = got
	} else if unanswered {
		return nil, errors.New("the lines are of a UDP sender: they do not say what arrived")
	}
	if !oneWay(of) {
		return nil, errors.New("the streams have no end in common: both directions (-d, -r), or several tests; import each by itself")
	}
	var sum csvStream
	streams := 0
	for id, s := range of {
		switch {
		case s.end == 0 || s.end < s.last-0.5:
			return nil, fmt.Errorf("intervals of stream %s without their total: cut off", id)
		case id == "-1":
			continue
		}
		streams++
		sum = csvStream{bytes: sum.bytes + s.bytes, end: max(sum.end, s.end), jitter: max(sum.jitter, s.jitter), lost: sum.lost + s.lost, packets: sum.packets + s.packets}
	}
	if streams == 0 {
		return nil, errors.New("no line of a stream")
	}
	// The lines of a UDP sender of 2.0 look like those of TCP.
	r := statement("", Iperf2{UDP: udp}, protocol(udp))
	r.maybe = "iperf2-tcp"
	r.Levels["streams"] = strconv.Itoa(streams)
	r.add(record.Throughput, "bit/s", 8*sum.bytes/sum.end)
	if udp {
		r.Kind = "iperf2-udp"
		if !(sum.packets > 0) || sum.lost < 0 || sum.lost > sum.packets {
			return nil, fmt.Errorf("impossible: %.0f of %.0f datagrams were lost", sum.lost, sum.packets)
		}
		r.Values = append(r.Values, packets(sum.lost, sum.packets, sum.end)...)
		r.add(record.Jitter, "s", sum.jitter/1e3)
	} else {
		r.Notes = append(r.Notes, record.NoteEndUnknown.With())
	}
	r.add(record.Window, "s", sum.end)
	return []Statement{r}, nil
}

// oneWay reports whether the streams have one end in common, the server: those of -d have it on either side.
func oneWay(streams map[string]*csvStream) bool {
	ends := [2]map[string]bool{{}, {}}
	for id, s := range streams {
		if f := strings.Split(s.peers, ","); id != "-1" {
			ends[0][f[0]+","+f[1]], ends[1][f[2]+","+f[3]] = true, true
		}
	}
	return len(ends[0]) == 1 || len(ends[1]) == 1
}
