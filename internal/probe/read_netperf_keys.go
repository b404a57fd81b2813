package probe

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/record"
)

// netperfColumns maps the column heads of -o to the names of -k (print_omni_init, nettest_omni.c).
var netperfColumns = map[string]string{
	"Protocol": "PROTOCOL", "Direction": "DIRECTION", "Elapsed Time (sec)": "ELAPSED_TIME", "Throughput": "THROUGHPUT", "Throughput Units": "THROUGHPUT_UNITS",
	"Local Send Size": "LOCAL_SEND_SIZE", "Local Send Throughput": "LOCAL_SEND_THROUGHPUT", "Remote Recv Throughput": "REMOTE_RECV_THROUGHPUT",
	"Request Size Bytes": "REQUEST_SIZE", "Response Size Bytes": "RESPONSE_SIZE", "Local Transport Retransmissions": "LOCAL_TRANSPORT_RETRANS",
	"Mean Latency Microseconds": "MEAN_LATENCY", "50th Percentile Latency Microseconds": "P50_LATENCY", "99th Percentile Latency Microseconds": "P99_LATENCY",
	"Round Trip Latency usec/tran": "RT_LATENCY", "Transaction Rate Tran/s": "TRANSACTION_RATE",
}

// netperfKeys reads the results in KEY=value lines, where a key that comes again begins the next one, or in the rows
// of -o under their head.
func netperfKeys(b []byte) (all []map[string]string, _ error) {
	all = []map[string]string{{}}
	lines := strings.SplitAfter(string(b), "\n")
	for i, line := range lines {
		if k, v, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok && strings.Trim(k, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" && k != "" {
			if !strings.HasSuffix(line, "\n") {
				return nil, errors.New("cut off: the last line does not end")
			}
			last := len(all) - 1
			if _, again := all[last][k]; again {
				all = append(all, map[string]string{k: v})
			} else {
				all[last][k] = v
			}
		}
		first, _, several := strings.Cut(strings.TrimSuffix(line, "\n"), ",")
		column := netperfColumns[strings.TrimSpace(first)]
		if several && (column != "" || strings.Contains(line, "Throughput")) || strings.HasSuffix(column, "_LATENCY") {
			return netperfColumnsOf(line, lines[i+1:])
		}
	}
	for _, keys := range all {
		if len(all[0]) == 0 {
			return nil, nil
		}
		if len(keys) != len(all[0]) {
			return nil, errors.New("several results with other keys: cut off, or several tests without their titles")
		}
	}
	return all, nil
}

// netperfColumnsOf reads the rows of -o. A row of netperf -P 0 follows those before it; a histogram is not a row.
func netperfColumnsOf(head string, lines []string) (all []map[string]string, _ error) {
	names := strings.Split(strings.TrimSuffix(head, "\n"), ",")
	for i, line := range lines {
		row, err := csv.NewReader(strings.NewReader(line)).Read()
		if err != nil || len(row) < 2 && i > 0 && len(names) > 1 {
			continue
		}
		if len(row) != len(names) || !strings.HasSuffix(line, "\n") {
			return nil, fmt.Errorf("a row of %d values under %d columns of -o: cut off", len(row), len(names))
		}
		keys := map[string]string{}
		for j, name := range names {
			keys[netperfColumns[strings.TrimSpace(name)]] = row[j]
		}
		delete(keys, "")
		all = append(all, keys)
	}
	if all == nil {
		return nil, errors.New("columns of -o without a row: cut off")
	}
	return all, nil
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
	if proto == "OMNI" {
		return r, errors.New("the output has no PROTOCOL: add it to -k or -o")
	}
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
		rate := 0.0
		if keys["THROUGHPUT"] == "" && keys["MEAN_LATENCY"] != "" && title != "" { // which says how many are in flight
			r.add(record.RTTMean, "s", f.number("MEAN_LATENCY")/1e6)
			break
		}
		if rate = f.number("THROUGHPUT"); f.err == nil && !(rate > 0) {
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
