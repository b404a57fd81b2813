package probe

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/record"
)

// Lines of iperf 2, with or without -e and -f. Bytes have binary prefixes and bits decimal ones
// (byte_snprintf, stdio.c).
//
//	[  3]  0.0-10.0 sec  1.10 GBytes   942 Mbits/sec
//	[SUM] 0.0000-10.0031 sec  1.10 GBytes   942 Mbits/sec
//	[  3]  0.0-10.0 sec  1.25 MBytes  1.05 Mbits/sec   0.012 ms    0/  893 (0%)
var (
	iperf2HeadRE       = regexp.MustCompile(`(?m)^(Client connecting to|Server listening on) .*(TCP|UDP) port \d+`)
	iperf2AnyRE        = regexp.MustCompile(`(?m)^\[(SUM| *\d+)\] +(\d+\.\d+)- *(\d+\.\d+) sec +(\d+(?:\.\d+)?) ([KMGT]?)Bytes +(\d+(?:\.\d+)?) ([KMGT]?)(bits|Bytes)/sec(.*)$`)
	iperf2BounceHeadRE = regexp.MustCompile(`(?m)^Bounce-back test \(size=(\d+)(?:\.0)? Byte\)`)
	iperf2LossRE       = regexp.MustCompile(`^ +(\d+\.\d+) ms +(\d+)/ *(\d+) \(`)
	iperf2StreamRE     = regexp.MustCompile(`(?m)^\[ *\d+\] local \S+ port \d+ connected with `)
	iperf2NoAckRE      = regexp.MustCompile(`(?m)^.*WARNING: did not receive ack of last datagram.*$`)
	iperf2FailRE       = regexp.MustCompile(`(?m)^((?:tcp |udp )?connect failed: .*|.* failed: .*|error: .*)$`)
	iperf2DateRE       = regexp.MustCompile(` on (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \((\S+)\)`)
)

// readIperf2 reads the text of a client or server, one test or several after each other.
func readIperf2(b []byte) ([]Statement, error) {
	parts := sections(b, iperf2HeadRE)
	if len(parts) == 1 {
		parts[0] = b // with several streams, some connect before the client prints its head
	}
	return each(parts, readIperf2Test)
}

func readIperf2Test(b []byte) (Statement, error) {
	head := iperf2HeadRE.FindSubmatch(b)
	if m := iperf2BounceHeadRE.FindSubmatch(b); m != nil {
		return readBounceback(b, m[1])
	}
	client, udp := strings.HasPrefix(string(head[1]), "Client"), string(head[2]) == "UDP"
	r := statement("iperf2-"+protocol(udp), Iperf2{UDP: udp}, protocol(udp))
	streams := len(iperf2StreamRE.FindAll(b, -1))
	rows, err := iperf2Totals(b, client && udp)
	switch {
	case err != nil:
		return r, err
	case rows == nil && iperf2NoAckRE.Match(b), rows == nil && client && udp && iperf2AnyRE.Match(b):
		return r, errors.New("no report of the server: the output says what was sent, not what arrived")
	case rows == nil && iperf2FailRE.Match(b):
		return r, fmt.Errorf("%.100s", iperf2FailRE.Find(b))
	case rows == nil:
		return r, errors.New("no result: cut off, or the connection failed")
	}
	switch sum := rows["SUM"]; {
	case sum != nil && (!udp || iperf2LossRE.Match(sum[9])):
		rows = map[string][][]byte{"SUM": sum}
	case sum == nil && !udp && streams > 1:
		return r, fmt.Errorf("%d streams without their sum: cut off", streams)
	default:
		if delete(rows, "SUM"); len(rows) != max(1, streams) {
			return r, fmt.Errorf("a total of %d of %d streams: cut off", len(rows), streams)
		}
	}
	var bits, seconds, jitter, lost, all float64
	for _, m := range rows {
		rate, sec, err := iperf2Rate(m)
		if err != nil {
			return r, err
		}
		bits, seconds = bits+rate, max(seconds, sec)
		if udp {
			l := iperf2LossRE.FindSubmatch(m[9])
			if l == nil {
				return r, errors.New("no jitter and losses: the output says what was sent, not what arrived")
			}
			jitter, lost, all = max(jitter, digits(l[1])/1e3), lost+digits(l[2]), all+digits(l[3])
		}
	}
	r.Levels["streams"] = strconv.Itoa(max(1, streams))
	r.add(record.Throughput, "bit/s", bits)
	switch {
	case udp && (!(all > 0) || lost > all):
		return r, fmt.Errorf("impossible: %.0f of %.0f datagrams were lost", lost, all)
	case udp:
		r.Values = append(r.Values, packets(lost, all, seconds)...)
		r.add(record.Jitter, "s", jitter)
		if m := iperf2SizeRE.FindSubmatch(b); m != nil {
			r.Levels["size"], r.Datagram = string(m[1]), int(digits(m[1]))
			// Datagrams that arrive twice, as from bonded links, count as received: 3 digits are enough to tell.
			if got, sent := bits*seconds/8, all*digits(m[1]); got > 1.05*sent {
				return r, fmt.Errorf("impossible: %.0f bytes were received and only %.0f sent; datagrams arrived twice", got, sent)
			}
		}
	default:
		if m := iperf2CCRE.FindSubmatch(b); m != nil {
			record.Congestion.Put(r.Observed, string(m[1]))
		}
		if client {
			r.Notes = append(r.Notes, record.NoteIperf2Sender.With())
		}
	}
	r.add(record.Window, "s", seconds)
	if m := iperf2PeerRE.FindSubmatch(b); m != nil {
		record.Tool.Put(r.Observed, "iperf "+string(m[1]))
	}
	if m := iperf2DateRE.FindSubmatch(b); m != nil && string(m[2]) == "UTC" { // other abbreviations are ambiguous
		r.Start, _ = time.Parse(time.DateTime, string(m[1]))
	}
	return r, nil
}

// readBounceback reads response times of size bytes.
func readBounceback(b, size []byte) (Statement, error) {
	p := Iperf2Bounceback{CC: string(submatch(iperf2CCRE, b))}
	m, err := p.Parse(Output{Client: b})
	r := statement("iperf2-bounceback", p, "tcp")
	r.Measured, r.Levels["size"] = m, string(size)
	return r, err
}

// submatch returns the first group of re, nil without a match.
func submatch(re *regexp.Regexp, b []byte) []byte {
	if m := re.FindSubmatch(b); m != nil {
		return m[1]
	}
	return nil
}

// iperf2Totals returns the line of each stream that covers the whole test, and that of their sum. With
// onlyReported, it takes the lines that a server reported to its client.
func iperf2Totals(b []byte, onlyReported bool) (rows map[string][][]byte, _ error) {
	ends := map[string]float64{} // of the last interval
	for _, m := range iperf2AnyRE.FindAllSubmatch(b, -1) {
		if onlyReported && !iperf2LossRE.Match(m[9]) {
			continue
		}
		id := strings.TrimSpace(string(m[1]))
		if rows == nil {
			rows = map[string][][]byte{}
		}
		start, end := digits(m[2]), digits(m[3])
		ends[id] = max(ends[id], end)
		if best := rows[id]; start == 0 && (best == nil || end > digits(best[3])) {
			rows[id] = m
		} else if best == nil {
			rows[id] = nil
		}
	}
	for id, m := range rows {
		if m == nil || digits(m[3]) < ends[id]-0.5 {
			return nil, fmt.Errorf("intervals of [%s] without their total: cut off", id)
		}
	}
	return rows, nil
}

// iperf2Rate returns the rate in bit/s and the duration in seconds of a line. Transfer and rate must
// agree; the one with more digits counts.
func iperf2Rate(m [][]byte) (rate, seconds float64, _ error) {
	f, err := numbers([][]byte{m[3], m[4], m[6]})
	if err != nil {
		return 0, 0, err
	}
	per := prefixed(string(m[7]), 1000)
	if string(m[8]) == "Bytes" {
		per = 8 * prefixed(string(m[7]), 1024)
	}
	transferred := f[1].times(8 * prefixed(string(m[5]), 1024)).over(f[0])
	rate, err = finer("throughput", transferred, f[2].times(per))
	return rate, f[0].value, err
}

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
