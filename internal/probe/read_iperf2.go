package probe

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
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
	iperf2HeadRE       = regexp.MustCompile(`(?m)^(Client connecting to|Server listening on) .*(TCP|UDP) port (\d+)`)
	iperf2AnyRE        = regexp.MustCompile(`(?m)^\[(SUM| *\*?\d+)\] +(\d+\.\d+)- *(\d+\.\d+) sec +(\d+(?:\.\d+)?) ([KMGT]?)Bytes +(\d+(?:\.\d+)?) ([KMGT]?)(bits|Bytes)/sec(.*)$`)
	iperf2BounceHeadRE = regexp.MustCompile(`(?m)^Bounce-back test \(size= *(\d+)(?:\.0)? Byte\)`)
	iperf2LossRE       = regexp.MustCompile(`^ +(\d+\.\d+) ms +(\d+)/ *(\d+) \(`)
	iperf2StreamRE     = regexp.MustCompile(`(?m)^\[ *\*?\d+\] local \S+ port (\d+) connected with \S+ port (\d+)(.*)$`)
	iperf2SilentRE     = regexp.MustCompile(`^Server listening on .*\n(?:(?:TCP window size|UDP buffer size|Receiving|Read buffer size|\[ *\*?\d+\] local|-+$).*\n|-+\n)*$`)
	iperf2EmptyRE      = regexp.MustCompile(`(?m)^\[ *\d+\] +\d+\.\d+- *\d+\.\d+ sec .* -?nan .*$`)
	iperf2StarRE       = regexp.MustCompile(`(?m)^\[ *\*\d+\] +\d`)
	iperf2PlainRE      = regexp.MustCompile(`(?m)^\[ *\d+\] +\d+\.\d+-`)
	iperf2NoAckRE      = regexp.MustCompile(`(?m)^.*WARNING: did not receive ack of last datagram.*$`)
	iperf2FailRE       = regexp.MustCompile(`(?m)^((?:tcp |udp )?connect failed: .*|.* failed: .*|error: .*)$`)
	iperf2DateRE       = regexp.MustCompile(` on (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \((\S+)\)`)
)

// readIperf2 reads the text of a client or server, one test or several after each other. If it has the output of both
// ends of a test, it takes the receiver's.
func readIperf2(b []byte) ([]Statement, error) {
	parts := sections(b, iperf2HeadRE)
	if len(parts) == 1 {
		parts[0] = b // with several streams, some connect before the client prints its head
	}
	for i, part := range parts[:max(0, len(parts)-1)] {
		if iperf2SilentRE.Match(part) && iperf2HeadRE.FindSubmatch(parts[i+1])[1][0] == 'C' {
			return nil, errBidirectional("-d, or -r one after the other") // such a client is a server, too
		}
	}
	if len(parts) > 1 { // a server that waits says nothing
		parts = slices.DeleteFunc(parts, func(b []byte) bool {
			return iperf2HeadRE.FindSubmatch(b)[1][0] == 'S' && !iperf2AnyRE.Match(b) && !iperf2StreamRE.Match(b)
		})
	}
	all, err := each(parts, readIperf2Test)
	if err != nil {
		return nil, err
	}
	ends := map[string][2]bool{} // whether the outputs of the server and the client are here
	for _, part := range parts {
		ports, client := iperf2Ports(part)
		have := ends[ports]
		have[0], have[1] = have[0] || !client, have[1] || client
		ends[ports] = have
	}
	var out []Statement
	for i, part := range parts {
		ports, client := iperf2Ports(part)
		if received := all[i].Levels["reverse"] == "true"; client == received || ends[ports] != [2]bool{true, true} {
			out = append(out, all[i])
		}
	}
	return out, nil
}

// iperf2Ports returns the client's ports, which tell tests apart, and whether it is the client's output.
func iperf2Ports(b []byte) (ports string, client bool) {
	client = iperf2HeadRE.FindSubmatch(b)[1][0] == 'C'
	var all []string
	for _, m := range iperf2StreamRE.FindAllSubmatch(b, -1) {
		port := m[2]
		if client {
			port = m[1]
		}
		all = append(all, string(port))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " "), client
}

// iperf2TwoWay returns an error if data went in both directions, or if a server served one test after another.
func iperf2TwoWay(b, port []byte, client bool) error {
	var calls, answers bool // of this end
	for _, m := range iperf2StreamRE.FindAllSubmatch(b, -1) {
		calls, answers = calls || bytes.Equal(m[2], port), answers || bytes.Equal(m[1], port)
	}
	peers, first := iperf2StreamRE.FindAllIndex(b, -1), iperf2AnyRE.FindIndex(b)
	switch {
	case bytes.Contains(b, []byte(" (bb ")):
		return errors.New("a bounce-back test without its head, \"Bounce-back test\": its bytes are of requests; import the client's output, whole")
	case bytes.Contains(b, []byte("(full-duplex)")), bytes.Contains(b, []byte("\n[FD")), iperf2StarRE.Match(b) && iperf2PlainRE.Match(b):
		return errBidirectional("--full-duplex")
	case calls && answers:
		return errBidirectional("-d, or -r one after the other")
	case !client && first != nil && len(peers) > 0 && peers[len(peers)-1][0] > first[0]:
		return errors.New("a server that served several tests after each other: its sum is not of one test; import the clients' outputs")
	}
	return nil
}

func readIperf2Test(b []byte) (Statement, error) {
	head := iperf2HeadRE.FindSubmatch(b)
	if m := iperf2BounceHeadRE.FindSubmatch(b); m != nil {
		return readBounceback(b, m[1])
	}
	client, udp := strings.HasPrefix(string(head[1]), "Client"), string(head[2]) == "UDP"
	r := statement("iperf2-"+protocol(udp), Iperf2{UDP: udp}, protocol(udp))
	if err := iperf2TwoWay(b, head[3], client); err != nil {
		return r, err
	}
	peers := map[string]bool{} // some versions name one twice
	for _, m := range iperf2StreamRE.FindAll(b, -1) {
		peers[string(m)] = true
	}
	streams := len(peers)
	reverse := bytes.Contains(b, []byte(" (reverse)"))
	rows, err := iperf2Totals(b, client && udp)
	switch {
	case err != nil:
		return r, err
	case rows == nil && iperf2EmptyRE.Match(b):
		return r, fmt.Errorf("nothing was received: the server's report is %.100q", iperf2EmptyRE.Find(b))
	case rows == nil && iperf2NoAckRE.Match(b), rows == nil && client && udp && iperf2AnyRE.Match(b):
		return r, errors.New("no report of the server: the output says what was sent, not what arrived")
	case rows == nil && iperf2FailRE.Match(b):
		return r, fmt.Errorf("the test never began: %.100s", iperf2FailRE.Find(b))
	case rows == nil:
		return r, errors.New("no result: cut off, or the connection failed")
	}
	if rows, err = iperf2Whole(rows, udp, streams); err != nil {
		return r, err
	}
	if reverse {
		r.Levels["reverse"] = "true"
	}
	r.Levels["streams"] = strconv.Itoa(max(1, streams))
	if err := r.iperf2(b, rows, udp); err != nil {
		return r, err
	}
	if !udp && client != reverse {
		r.Notes = append(r.Notes, record.NoteIperf2Sender.With())
	}
	if m := iperf2PeerRE.FindSubmatch(b); m != nil {
		record.Tool.Put(r.Observed, "iperf "+string(m[1]))
	}
	if m := iperf2DateRE.FindSubmatch(b); m != nil && string(m[2]) == "UTC" { // other abbreviations are ambiguous
		r.Start, _ = time.Parse(time.DateTime, string(m[1]))
	}
	return r, nil
}

// iperf2Whole returns the lines that make the total: that of the sum, or those of all streams.
func iperf2Whole(rows map[string][][]byte, udp bool, streams int) (map[string][][]byte, error) {
	switch sum := rows["SUM"]; {
	case sum != nil && (!udp || iperf2LossRE.Match(sum[9])):
		return map[string][][]byte{"SUM": sum}, nil
	case sum == nil && !udp && streams > 1:
		return nil, fmt.Errorf("%d streams without their sum: cut off", streams)
	}
	if delete(rows, "SUM"); len(rows) != max(1, streams) {
		return nil, fmt.Errorf("a total of %d of %d streams: cut off", len(rows), streams)
	}
	return rows, nil
}

// iperf2 adds the values of the lines that make the total.
func (r *Statement) iperf2(b []byte, rows map[string][][]byte, udp bool) error {
	var bits, seconds, jitter, lost, all float64
	for _, m := range rows {
		rate, sec, err := iperf2Rate(m)
		if err != nil {
			return err
		}
		bits, seconds = bits+rate, max(seconds, sec)
		if udp {
			l := iperf2LossRE.FindSubmatch(m[9])
			if l == nil {
				return errors.New("no jitter and losses: the output says what was sent, not what arrived")
			}
			jitter, lost, all = max(jitter, digits(l[1])/1e3), lost+digits(l[2]), all+digits(l[3])
		}
	}
	r.add(record.Throughput, "bit/s", bits)
	switch {
	case udp && (!(all > 0) || lost > all):
		return fmt.Errorf("impossible: %.0f of %.0f datagrams were lost", lost, all)
	case udp:
		r.Values = append(r.Values, packets(lost, all, seconds)...)
		r.add(record.Jitter, "s", jitter)
		if m := iperf2SizeRE.FindSubmatch(b); m != nil {
			r.Levels["size"], r.Datagram = string(m[1]), int(digits(m[1]))
			// Datagrams that arrive twice, as from bonded links, count as received: 3 digits are enough to tell.
			if got, sent := bits*seconds/8, all*digits(m[1]); got > 1.05*sent {
				return fmt.Errorf("impossible: %.0f bytes were received and only %.0f sent; datagrams arrived twice", got, sent)
			}
		}
	default:
		if m := iperf2CCRE.FindSubmatch(b); m != nil {
			record.Congestion.Put(r.Observed, string(m[1]))
		}
	}
	r.add(record.Window, "s", seconds)
	return nil
}

// readBounceback reads response times of size bytes.
func readBounceback(b, size []byte) (Statement, error) {
	r := statement("iperf2-bounceback", Iperf2Bounceback{}, "tcp")
	m, err := iperf2Bounces(b)
	if err != nil { // which begins with the tool, as Read's errors do
		return r, errors.New(strings.TrimPrefix(err.Error(), "iperf: "))
	}
	if cc := submatch(iperf2CCRE, b); cc != nil {
		record.Congestion.Put(m.Observed, string(cc))
	}
	r.Measured, r.Levels["size"] = m, string(size)
	return r, nil
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
