package probe

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/weir-bench/weir/record"
)

// Lines of iperf3's text. Bytes have binary prefixes and bits decimal ones (unit_snprintf, units.c). The column of
// roles is that of --bidir, since 3.7.
//
//	[  5]   0.00-10.00  sec  1.10 GBytes   942 Mbits/sec                  receiver
//	[SUM]   0.00-10.00  sec  1.25 MBytes  1.05 Mbits/sec  0.012 ms  0/906 (0%)  receiver
var (
	iperf3TextRE  = regexp.MustCompile(`(?m)^(?:iperf 3\.\d|Connecting to host .*, port \d+|Accepted connection from |Server listening on \d+(?: |$)|\[ ID\]\[Role\] |\[(?:SUM| *\d+)\].* (?:sender|receiver) *$|iperf3: (?:error|interrupt) - )`)
	iperf3HeadRE  = regexp.MustCompile(`(?m)^(?:iperf 3\.\d.*\n(?:[^\[\n].*\n){0,5}?)?Connecting to host .*`)
	iperf3RowRE   = regexp.MustCompile(`(?m)^\[(SUM| *\d+)\] +(\d+\.\d+)- *(\d+\.\d+) +sec +(\d+(?:\.\d+)?) ([KMGT]?)Bytes +(\d+(?:\.\d+)?) ([KMGT]?)(bits|Bytes)/sec +(?:(\d+\.\d+) ms +)?(?:(\d+)(?:/(\d+) \([^)]*\))? +)?(sender|receiver) *$`)
	iperf3RoleRE  = regexp.MustCompile(`(?m)^\[(?:SUM| *\d+)\]\[[TR]X-[CS]\]|^\[ ID\]\[Role\]`)
	iperf3AnyRE   = regexp.MustCompile(`(?m)^\[(?:SUM| *\d+)\].* sec `)
	iperf3ErrRE   = regexp.MustCompile(`(?m)^iperf3: (?:error|interrupt) - (.*)$`)
	iperf3VerRE   = regexp.MustCompile(`(?m)^iperf (3\.\d\S*)`)
	iperf3PeerRE  = regexp.MustCompile(`(?m)^\[ *\d+\] local \S+ port \d+ connected to `)
	iperf3SendsRE = regexp.MustCompile(`(?m)^\[ ID\] Interval .* Cwnd *$|^\[ ID\] Interval .*Total Datagrams *$`) // of intervals at a client that sends
)

// readIperf3Text reads the text of a client, one test or several after each other. What precedes the first one, and
// failures to connect between them, measured nothing.
func readIperf3Text(b []byte) ([]Statement, error) {
	at := iperf3HeadRE.FindAllIndex(b, -1)
	if at == nil {
		return each([][]byte{b}, readIperf3Test)
	}
	for i, m := range at {
		end := len(b)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		_, after, _ := bytes.Cut(b[m[0]:end], []byte("\niperf Done."))
		if i == 0 && iperf3Headless(b[:m[0]]) || iperf3Headless(after) {
			return nil, errHeadless
		}
	}
	return each(sections(b, iperf3HeadRE), readIperf3Test)
}

var errHeadless = errors.New("the beginning is missing (\"Connecting to host\"): the output does not say which end sent")

// iperf3Headless reports whether a text between tests has a client's result.
func iperf3Headless(b []byte) bool {
	if at := bytes.Index(b, []byte("Accepted connection from ")); at >= 0 {
		b = b[:at]
	}
	return iperf3RowRE.Match(b) || iperf3RoleRE.Match(b)
}

// readIperf3Test reads the report at the end of one test. It needs the receiver's line: the sender's rate is not
// what arrived.
func readIperf3Test(b []byte) (r Statement, _ error) {
	client, whole := iperf3HeadRE.Match(b), true
	if at := bytes.Index(b, []byte("\niperf Done.")); at >= 0 {
		b = b[:at+1]
	} else {
		whole = false
	}
	b, _, _ = bytes.Cut(b, []byte("\nServer output:\n")) // --get-server-output
	b = append(bytes.TrimRight(b, "\n"), '\n')
	rows := map[string][][][]byte{} // by the end that reports
	for _, m := range iperf3RowRE.FindAllSubmatch(b, -1) {
		rows[string(m[12])] = append(rows[string(m[12])], m)
	}
	received, n, err := total(rows["receiver"])
	streams := len(iperf3PeerRE.FindAll(b, -1))
	if streams == 0 { // cut out of the text
		streams = max(1, n)
	}
	switch fail := iperf3ErrRE.FindSubmatch(b); {
	case iperf3RoleRE.Match(b):
		return r, errBidirectional("--bidir")
	case !client && !whole && bytes.Contains(b, []byte("Accepted connection from ")), !client && fail == nil && bytes.HasPrefix(bytes.TrimLeft(b, "-\n"), []byte("Server listening on ")):
		return r, errOtherEnd
	case fail != nil && !iperf3AnyRE.Match(b):
		return r, fmt.Errorf("the test never began: %s", fail[1])
	case fail != nil:
		return r, fmt.Errorf("the test broke off: %s", fail[1])
	case err != nil:
		return r, err
	case received == nil && !whole && len(rows["sender"]) == 0:
		return r, errors.New("cut off or interrupted: the lines of the whole test and \"iperf Done.\" are missing")
	case received == nil:
		return r, errors.New("no line of the receiver: the output does not say what arrived")
	case n != streams && streams > 1, string(received[1]) == "SUM" && n < 2:
		return r, fmt.Errorf("the receiver reports %d of %d streams", n, streams)
	case !client && !iperf3SendsRE.Match(b):
		return r, errHeadless
	}
	return iperf3Total(b, received, rows["sender"], streams)
}

func iperf3Total(b []byte, received [][]byte, sent [][][]byte, streams int) (r Statement, _ error) {
	f, err := numbers([][]byte{received[2], received[3], received[4], received[6]})
	if err != nil {
		return r, err
	}
	seconds := rounded{f[1].value - f[0].value, f[0].rounding + f[1].rounding}
	if seconds.value <= seconds.rounding {
		return r, fmt.Errorf("the test lasted %s s: too short for two decimals; import JSON", received[3])
	}
	bits := f[2].times(8 * prefixed(string(received[5]), 1024)).over(seconds)
	per := prefixed(string(received[7]), 1000)
	if string(received[8]) == "Bytes" { // -f K, M, G
		per = 8 * prefixed(string(received[7]), 1024)
	}
	rate, err := finer("throughput", bits, f[3].times(per))
	if err != nil {
		return r, err
	}
	if f[2].value == 0 {
		return r, fmt.Errorf("nothing was received: the receiver's count is 0 bytes in %.3g s", seconds.value)
	}
	udp := len(received[9]) > 0
	r = statement("iperf3-"+protocol(udp), Iperf3{UDP: udp}, protocol(udp))
	r.Levels["streams"] = strconv.Itoa(streams)
	r.Levels["reverse"] = strconv.FormatBool(bytes.Contains(b, []byte("\nReverse mode, remote host ")))
	version := iperf3VerRE.FindSubmatch(b)
	if version != nil {
		record.Tool.Put(r.Observed, "iperf3 "+string(version[1]))
	}
	r.add(record.Throughput, "bit/s", rate)
	if udp {
		lost, all := digits(received[10]), digits(received[11])
		switch {
		case bytes.Contains(b, []byte("(omitted)")) && (version == nil || Iperf3{UDP: true}.checkVersion("iperf "+string(version[1])) != nil):
			return r, errors.New("a warm-up (-O) and no version from 3.10: older ones count the warm-up's losses too; import JSON, or the text of -V")
		case !(all > 0) || lost > all:
			return r, fmt.Errorf("impossible: %.0f of %.0f packets were lost", lost, all)
		}
		r.Values = append(r.Values, packets(lost, all, seconds.value)...)
		r.add(record.Jitter, "s", digits(received[9])/1e3)
	} else if s, _, err := total(sent); err == nil && s != nil && len(s[10]) > 0 {
		r.add(record.Retransmits, "1", digits(s[10]))
	}
	r.add(record.Window, "s", seconds.value)
	return r, nil
}

// total returns the line of all streams, and how many streams have one.
func total(rows [][][]byte) (all [][]byte, streams int, _ error) {
	seen := map[string]bool{}
	for _, m := range rows {
		id := string(m[1])
		if seen[id] {
			return nil, 0, fmt.Errorf("two lines of a total for [%s]: the outputs of several tests or ends are mixed", id)
		}
		if seen[id] = true; id == "SUM" {
			all = m
			continue
		}
		streams++
		if streams == 1 && all == nil {
			all = m
		}
	}
	if streams > 1 && string(all[1]) != "SUM" {
		return nil, streams, nil
	}
	return all, streams, nil
}
