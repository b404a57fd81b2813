package probe

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/record"
)

// The first line of a test, or a line of -k.
//
//	MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET
var (
	netperfHeadRE  = regexp.MustCompile(`(?m)^(?:MIGRATED )?((?:TCP|UDP) (?:STREAM|MAERTS|SENDFILE|REQUEST/RESPONSE|Connect/Request/Response)|OMNI [A-Za-z|]+) TEST\b.*$|^(?:THROUGHPUT|PROTOCOL|DIRECTION|ELAPSED_TIME)=|^establish control: `)
	netperfTitleRE = regexp.MustCompile(`(?m)^(?:MIGRATED )?((?:TCP|UDP|SCTP|DCCP|OMNI|UDPLITE|XTI|DLPI)[A-Z]* [A-Za-z/|_]+) TEST\b.*$`)
	netperfUnitRE  = regexp.MustCompile(`(?m)(?:10\^([0369])bits|\b([KMG]?)Bytes) */s`)
	netperfBurstRE = regexp.MustCompile(`first burst ([1-9]\d*)`)
	netperfWarnRE  = regexp.MustCompile(`(?m)^!!! WARNING$`)

	// Rows of the classic tables; with -c or -C the CPU time follows.
	netperfStreamRE = regexp.MustCompile(`(?m)^ *\d+ +\d+ +(\d+) +(\d+\.\d+) +(\d+(?:\.\d+)?)((?: +-?\d+\.\d+){4})?[ \t]*\n`)
	netperfSentRE   = regexp.MustCompile(`(?m)^ *\d+ +(\d+) +(\d+\.\d+) +(\d+) +\d+ +(\d+(?:\.\d+)?)(?: +-?\d+\.\d+)*[ \t]*\n`)
	netperfGotRE    = regexp.MustCompile(`(?m)^ *\d+ +(\d+\.\d+) +(\d+) +(\d+(?:\.\d+)?)(?: +-?\d+\.\d+)*[ \t]*\n`)
	netperfRRRE     = regexp.MustCompile(`(?m)^ *\d+ +\d+ +(\d+) +(\d+) +(\d+\.\d+) +(\d+(?:\.\d+)?)(?: +-?\d+\.\d+)*[ \t]*\n *\d+ +\d+[ \t]*\n`)
)

// netperfColumns maps the column heads of -o to the names of -k (print_omni_init, nettest_omni.c).
var netperfColumns = map[string]string{
	"Protocol": "PROTOCOL", "Direction": "DIRECTION", "Elapsed Time (sec)": "ELAPSED_TIME", "Throughput": "THROUGHPUT", "Throughput Units": "THROUGHPUT_UNITS",
	"Local Send Size": "LOCAL_SEND_SIZE", "Local Send Throughput": "LOCAL_SEND_THROUGHPUT", "Remote Recv Throughput": "REMOTE_RECV_THROUGHPUT",
	"Request Size Bytes": "REQUEST_SIZE", "Response Size Bytes": "RESPONSE_SIZE", "Local Transport Retransmissions": "LOCAL_TRANSPORT_RETRANS",
	"Mean Latency Microseconds": "MEAN_LATENCY", "50th Percentile Latency Microseconds": "P50_LATENCY", "99th Percentile Latency Microseconds": "P99_LATENCY",
	"Round Trip Latency usec/tran": "RT_LATENCY", "Transaction Rate Tran/s": "TRANSACTION_RATE",
}

// readNetperf reads classic tables, and omni's -k and -o, one test or several after each other.
func readNetperf(b []byte) ([]Statement, error) {
	parts := sections(b, netperfTitleRE)
	if parts == nil { // without the title, as with -P 0
		parts = [][]byte{b}
	}
	return each(parts, readNetperfTest)
}

func readNetperfTest(b []byte) (r Statement, err error) {
	title := ""
	if m := netperfTitleRE.FindSubmatch(b); m != nil {
		title = string(m[1])
	}
	burst := netperfBurstRE.FindSubmatch(b)
	keys, err := netperfKeys(b)
	switch {
	case err != nil:
	case burst != nil:
		return r, fmt.Errorf("%s more requests in flight (-b): no probe of weir measures that", burst[1])
	case len(keys) > 0:
		r, err = netperfOmni(title, keys)
	case title == "TCP STREAM", title == "TCP MAERTS", title == "TCP SENDFILE":
		r, err = netperfStream(b, title)
	case title == "UDP STREAM":
		r, err = netperfDatagrams(b)
	case strings.HasSuffix(strings.ToLower(title), "request/response"):
		r, err = netperfTimes(b, title)
	default:
		if title == "" {
			first, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
			return r, fmt.Errorf("no result, and no title of a test: %.80q", first)
		}
		err = fmt.Errorf("a table of %s: import the tests TCP_STREAM, TCP_MAERTS, TCP_SENDFILE, UDP_STREAM, TCP_RR, UDP_RR, TCP_CRR, or -k and -o of omni", title)
	}
	if err == nil && netperfWarnRE.Match(b) {
		r.Notes = append(r.Notes, record.NoteConfidence.With())
	}
	return r, err
}

// netperfUnit returns the unit of the table's throughput in bit/s. Bytes have binary prefixes, bits
// decimal ones (format_units, calc_thruput_interval; netlib.c).
func netperfUnit(b []byte) (float64, error) {
	m := netperfUnitRE.FindSubmatch(b)
	switch {
	case m == nil:
		return 0, errors.New("no unit of throughput: the head of the table is missing")
	case len(m[1]) > 0:
		return map[string]float64{"0": 1, "3": 1e3, "6": 1e6, "9": 1e9}[string(m[1])], nil
	}
	return 8 * prefixed(string(m[2]), 1024), nil
}

// only returns the groups of re's only match.
func only(re *regexp.Regexp, b []byte) ([][]byte, error) {
	switch all := re.FindAllSubmatch(b, -1); len(all) {
	case 0:
		return nil, errors.New("no result: cut off, or the connection failed")
	case 1:
		return all[0], nil
	default:
		return nil, fmt.Errorf("%d rows under one head", len(all))
	}
}

// netperfStream reads a table whose throughput is what the receiver got (send_omni_inner,
// nettest_omni.c).
func netperfStream(b []byte, title string) (r Statement, _ error) {
	unit, err := netperfUnit(b)
	if err != nil {
		return r, err
	}
	m, err := only(netperfStreamRE, b)
	if err != nil {
		return r, err
	}
	r = statement("netperf-tcp", Netperf{}, "tcp")
	r.Levels["size"], r.Levels["reverse"] = string(m[1]), strconv.FormatBool(title == "TCP MAERTS")
	if title == "TCP SENDFILE" {
		r.Levels["send"] = "sendfile"
	}
	r.add(record.Throughput, "bit/s", digits(m[3])*unit)
	r.add(record.Window, "s", digits(m[2]))
	return r, nil
}

func netperfDatagrams(b []byte) (r Statement, _ error) {
	unit, err := netperfUnit(b)
	if err != nil {
		return r, err
	}
	sent, err := only(netperfSentRE, b)
	if err != nil {
		return r, err
	}
	got, err := only(netperfGotRE, b)
	if err != nil {
		return r, fmt.Errorf("the receiver's row: %w", err)
	}
	size, seconds, all, arrived := digits(sent[1]), digits(sent[2]), digits(sent[3]), digits(got[2])
	if arrived > all || !(seconds > 0) {
		return r, fmt.Errorf("impossible: %.0f of %.0f messages arrived in %v s", arrived, all, seconds)
	}
	r = statement("netperf-udp", Netperf{UDP: true}, "udp")
	r.Datagram, r.Levels["size"] = int(size), string(sent[1])
	r.add(record.Throughput, "bit/s", digits(got[3])*unit)
	r.Values = append(r.Values, packets(all-arrived, all, seconds)...)
	r.add(record.Window, "s", seconds)
	return r, nil
}

// netperfTimes reads a table of transactions, one at a time: their mean time is the inverse of the rate.
func netperfTimes(b []byte, title string) (r Statement, _ error) {
	if !bytes.Contains(b, []byte("per sec")) {
		return r, errors.New("the table is not of transactions per second: run netperf without -f, or import -k of omni")
	}
	m, err := only(netperfRRRE, b)
	if err != nil {
		return r, err
	}
	rate := digits(m[4])
	if !(rate > 0) {
		return r, fmt.Errorf("%v transactions/s", rate)
	}
	r = netperfResponse(strings.HasPrefix(title, "UDP"), strings.Contains(title, "Connect"), string(m[1]), string(m[2]))
	r.add(record.RTTMean, "s", 1/rate)
	r.add(record.Transactions, "1/s", rate)
	r.add(record.Window, "s", digits(m[3]))
	return r, nil
}

func netperfResponse(udp, connect bool, request, response string) Statement {
	kind := "netperf-" + protocol(udp) + "-rr"
	if connect {
		kind = "netperf-crr"
	}
	r := statement(kind, NetperfRR{UDP: udp, Connect: connect}, protocol(udp))
	switch {
	case request == "" || response == "":
	case request == response:
		r.Levels["size"] = request
	default:
		r.Levels["size"] = request + "," + response
	}
	return r
}

// netperfKeys reads KEY=value lines, or the two lines of -o.
func netperfKeys(b []byte) (map[string]string, error) {
	keys := map[string]string{}
	lines := strings.SplitAfter(string(b), "\n")
	for i, line := range lines {
		if k, v, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok && strings.Trim(k, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" && k != "" {
			if !strings.HasSuffix(line, "\n") {
				return nil, errors.New("cut off: the last line does not end")
			}
			if _, twice := keys[k]; twice {
				return nil, fmt.Errorf("%s occurs twice: several results without the titles of their tests", k)
			}
			keys[k] = v
		}
		if i+2 < len(lines) && strings.Contains(line, ",") && strings.Contains(line, "Throughput") {
			both, err := csv.NewReader(strings.NewReader(line + lines[i+1])).ReadAll()
			if err != nil || len(both) != 2 || !strings.HasSuffix(lines[i+1], "\n") {
				return nil, fmt.Errorf("columns of -o without a row of as many: cut off (%v)", err)
			}
			for j, head := range both[0] {
				keys[netperfColumns[strings.TrimSpace(head)]] = both[1][j]
			}
			delete(keys, "")
		}
	}
	return keys, nil
}

func netperfOmni(title string, keys map[string]string) (r Statement, _ error) {
	f := fields{text: keys}
	proto := cmp.Or(keys["PROTOCOL"], strings.Fields(title + " ?")[0])
	direction := keys["DIRECTION"]
	switch test := strings.ToUpper(title); {
	case direction != "":
	case strings.HasPrefix(test, "OMNI "):
		direction = strings.Trim(strings.TrimPrefix(title, "OMNI "), "|")
	case strings.Contains(test, "CONNECT/"):
		direction = "Connect|Send|Recv"
	case strings.Contains(test, "REQUEST/"):
		direction = "Send|Recv"
	case strings.HasSuffix(test, " STREAM"), strings.HasSuffix(test, " SENDFILE"):
		direction = "Send"
	case strings.HasSuffix(test, " MAERTS"):
		direction = "Recv"
	}
	udp := proto == "UDP"
	if proto != "TCP" && !udp {
		return r, fmt.Errorf("PROTOCOL is %.20q, not TCP or UDP", proto)
	}
	units := keys["THROUGHPUT_UNITS"]
	switch {
	case strings.Contains(direction, "Send|Recv"):
		if units != "" && units != "Trans/s" {
			return r, fmt.Errorf("THROUGHPUT_UNITS is %.20q, not Trans/s", units)
		}
		r = netperfResponse(udp, strings.HasPrefix(direction, "Connect"), keys["REQUEST_SIZE"], keys["RESPONSE_SIZE"])
		rate := f.number("THROUGHPUT")
		if f.err == nil && !(rate > 0) {
			return r, fmt.Errorf("%v transactions/s", rate)
		}
		seconds, known := 0.0, keys["ELAPSED_TIME"] != ""
		if known {
			seconds = f.number("ELAPSED_TIME")
		}
		if keys["P50_LATENCY"] != "" {
			r.add(record.RTT, "s", f.number("P50_LATENCY")/1e6)
			if keys["P99_LATENCY"] != "" {
				r.Values = append(r.Values, tails(rate*seconds, f.number("P99_LATENCY")/1e6, 0)...)
			}
		}
		mean := 1 / rate
		if keys["MEAN_LATENCY"] != "" {
			mean = f.number("MEAN_LATENCY") / 1e6
		}
		// Transactions one at a time cannot take longer than the window, which netperf rounds to 10 ms.
		if f.err == nil && rate*mean > 1.02 {
			return r, fmt.Errorf("%v transactions/s of %v s each do not fit: several in flight (-b)?", rate, mean)
		}
		r.add(record.RTTMean, "s", mean)
		r.add(record.Transactions, "1/s", rate)
	case direction == "Send" || direction == "Recv":
		unit, err := netperfUnit([]byte(units))
		if err != nil {
			return r, fmt.Errorf("THROUGHPUT_UNITS is %.20q, not of bits or bytes: cut off, or not asked for", units)
		}
		r = statement("netperf-"+protocol(udp), Netperf{UDP: udp}, protocol(udp))
		r.Levels["reverse"] = strconv.FormatBool(direction == "Recv")
		if size := keys["LOCAL_SEND_SIZE"]; size != "" && direction == "Send" {
			r.Levels["size"] = size
		}
		// What the receiver got, also under THROUGHPUT (send_omni_inner, nettest_omni.c).
		got := "THROUGHPUT"
		if keys["REMOTE_RECV_THROUGHPUT"] != "" && direction == "Send" {
			got = "REMOTE_RECV_THROUGHPUT"
		}
		r.add(record.Throughput, "bit/s", f.number(got)*unit)
		for _, k := range [][2]string{{"LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD"}, {"LOCAL_SEND_THROUGHPUT", got}} {
			if !udp || direction != "Send" || keys[k[0]] == "" || keys[k[1]] == "" {
				continue
			}
			if sent, arrived := f.number(k[0]), f.number(k[1]); f.err == nil && sent > 0 {
				r.add(record.Loss, "1", max(0, 1-arrived/sent))
			}
			break
		}
		if n := keys["LOCAL_TRANSPORT_RETRANS"]; n != "" && n != "-1" && !udp && direction == "Send" { // -1 is unknown
			r.add(record.Retransmits, "1", f.number("LOCAL_TRANSPORT_RETRANS"))
		}
	default:
		return r, fmt.Errorf("DIRECTION is %.20q, not Send, Recv or Send|Recv", direction)
	}
	if keys["ELAPSED_TIME"] != "" {
		r.add(record.Window, "s", f.number("ELAPSED_TIME"))
	}
	if cc := keys["LOCAL_CONG_CONTROL"]; cc != "" {
		record.Congestion.Put(r.Observed, cc)
	}
	return r, f.err
}
