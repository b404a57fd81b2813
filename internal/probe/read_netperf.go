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

// readNetperf reads classic tables, and omni's -k and -o, one test or several after each other. With -P 0, as after
// the first of a loop, a test is only its row.
func readNetperf(b []byte) (out []Statement, _ error) {
	parts := sections(b, netperfTitleRE)
	if parts == nil { // without the title, as with -P 0
		parts = [][]byte{b}
	}
	for i, part := range parts {
		some, err := readNetperfTests(part)
		if err != nil && len(parts) > 1 {
			err = fmt.Errorf("result %d of %d: %w", i+1, len(parts), err)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

// readNetperfTests reads the results under one title.
func readNetperfTests(b []byte) (all []Statement, err error) {
	title := ""
	if m := netperfTitleRE.FindSubmatch(b); m != nil {
		title = string(m[1])
	}
	burst := netperfBurstRE.FindSubmatch(b)
	keys, err := netperfKeys(b)
	switch {
	case err != nil:
	case burst != nil:
		return nil, fmt.Errorf("%s more requests in flight (-b): no probe of weir measures that", burst[1])
	case len(keys) > 0:
		for _, result := range keys {
			r, err := netperfOmni(title, result)
			if err != nil {
				return nil, err
			}
			all = append(all, r)
		}
	case title == "TCP STREAM", title == "TCP MAERTS", title == "TCP SENDFILE":
		all, err = netperfStream(b, title)
	case title == "UDP STREAM":
		all, err = netperfDatagrams(b)
	case strings.HasSuffix(strings.ToLower(title), "request/response"):
		all, err = netperfTimes(b, title)
	default:
		if title == "" {
			first, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
			return nil, fmt.Errorf("no result, and no title of a test: %.80q", first)
		}
		err = fmt.Errorf("a table of %s: import the tests TCP_STREAM, TCP_MAERTS, TCP_SENDFILE, UDP_STREAM, TCP_RR, UDP_RR, TCP_CRR, or -k and -o of omni", title)
	}
	if err == nil && netperfWarnRE.Match(b) {
		for i := range all {
			all[i].Notes = append(all[i].Notes, record.NoteConfidence.With())
		}
	}
	return all, err
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

// rows returns the groups of all matches.
func rows(re *regexp.Regexp, b []byte) ([][][]byte, error) {
	all := re.FindAllSubmatch(b, -1)
	if all == nil {
		return nil, errors.New("no result: cut off, or the connection failed")
	}
	return all, nil
}

// netperfStream reads a table whose throughput is what the receiver got (send_omni_inner,
// nettest_omni.c).
func netperfStream(b []byte, title string) (out []Statement, _ error) {
	unit, err := netperfUnit(b)
	if err != nil {
		return nil, err
	}
	all, err := rows(netperfStreamRE, b)
	for _, m := range all {
		r := statement("netperf-tcp", Netperf{}, "tcp")
		r.Levels["size"], r.Levels["reverse"] = string(m[1]), strconv.FormatBool(title == "TCP MAERTS")
		if title == "TCP SENDFILE" {
			r.Levels["send"] = "sendfile"
		}
		r.add(record.Throughput, "bit/s", digits(m[3])*unit)
		r.add(record.Window, "s", digits(m[2]))
		out = append(out, r)
	}
	return out, err
}

func netperfDatagrams(b []byte) (out []Statement, _ error) {
	unit, err := netperfUnit(b)
	if err != nil {
		return nil, err
	}
	sends, err := rows(netperfSentRE, b)
	if err != nil {
		return nil, err
	}
	gets, err := rows(netperfGotRE, b)
	if err != nil || len(gets) != len(sends) {
		return nil, fmt.Errorf("the receiver's row: %d for %d of the sender: cut off", len(gets), len(sends))
	}
	for i, sent := range sends {
		got := gets[i]
		size, seconds, all, arrived := digits(sent[1]), digits(sent[2]), digits(sent[3]), digits(got[2])
		if arrived > all || !(seconds > 0) {
			return nil, fmt.Errorf("impossible: %.0f of %.0f messages arrived in %v s", arrived, all, seconds)
		}
		r := statement("netperf-udp", Netperf{UDP: true}, "udp")
		r.Datagram, r.Levels["size"] = int(size), string(sent[1])
		r.add(record.Throughput, "bit/s", digits(got[3])*unit)
		r.Values = append(r.Values, packets(all-arrived, all, seconds)...)
		r.add(record.Window, "s", seconds)
		out = append(out, r)
	}
	return out, nil
}

// netperfTimes reads a table of transactions, one at a time: their mean time is the inverse of the rate.
func netperfTimes(b []byte, title string) (out []Statement, _ error) {
	if !bytes.Contains(b, []byte("per sec")) {
		return nil, errors.New("the table is not of transactions per second: run netperf without -f, or import -k of omni")
	}
	all, err := rows(netperfRRRE, b)
	for _, m := range all {
		rate := digits(m[4])
		if !(rate > 0) {
			return nil, fmt.Errorf("%v transactions/s", rate)
		}
		r := netperfResponse(strings.HasPrefix(title, "UDP"), strings.Contains(title, "Connect"), string(m[1]), string(m[2]))
		r.add(record.RTTMean, "s", 1/rate)
		r.add(record.Transactions, "1/s", rate)
		r.add(record.Window, "s", digits(m[3]))
		out = append(out, r)
	}
	return out, err
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
