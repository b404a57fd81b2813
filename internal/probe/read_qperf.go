package probe

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/record"
)

// Lines of qperf, in any units. All prefixes are decimal, except those of sizes that are whole multiples of
// 1024, which it writes KiB (view_band, view_size, nice_1024; qperf.c).
//
//	tcp_bw:
//	    bw  =  1.17 GB/sec
//	    msg_size  =  64 KiB (65,536)
var (
	qperfTestRE  = regexp.MustCompile(`(?m)^(?:conf|quit|[a-z]+(?:_[a-z]+)*_(?:bw|lat|mr)):$`)
	qperfValueRE = regexp.MustCompile(`(?m)^ +(\w+) += +([\d,]*\.?\d+(?:e[-+]?\d+)?) ?([A-Za-z/%]*)(?: cpus)?(?: \(([\d,]+)\))?[ \t]*\n`)
	qperfWordRE  = regexp.MustCompile(`(?m)^ +(\w+) += +(\S.*\S)[ \t]*\n`)
)

// qperfScale holds the units of qperf in base units: bit/s, bytes, seconds, 1/s.
var qperfScale = map[string]float64{
	"bytes/sec": 8, "KB/sec": 8e3, "MB/sec": 8e6, "GB/sec": 8e9, "TB/sec": 8e12,
	"bits/sec": 1, "Kb/sec": 1e3, "Mb/sec": 1e6, "Gb/sec": 1e9, "Tb/sec": 1e12,
	"Kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9,
	"bytes": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
	"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "sec": 1,
	"/sec": 1, "K/sec": 1e3, "M/sec": 1e6, "G/sec": 1e9, "": 1, "thousand": 1e3, "million": 1e6, "billion": 1e9,
}

// readQperf reads tcp_bw, udp_bw, tcp_lat and udp_lat, one or several; conf gives facts.
func readQperf(b []byte) (out []Statement, _ error) {
	conf := map[string]string{}
	for _, part := range sections(b, qperfTestRE) {
		test, _, _ := strings.Cut(string(part), ":")
		if test == "quit" {
			continue
		}
		if test == "conf" {
			for _, m := range qperfWordRE.FindAllSubmatch(part, -1) {
				conf[string(m[1])] = string(m[2])
			}
			continue
		}
		r, err := readQperfTest(test, part)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", test, err)
		}
		out = append(out, r)
	}
	for _, r := range out {
		r.Observed.Observe(record.SourceHost.Is(conf["loc_node"]), record.Kernel.Is(conf["loc_os"]))
		if conf["loc_qperf"] != "" {
			record.Tool.Put(r.Observed, "qperf "+conf["loc_qperf"])
		}
	}
	return out, nil
}

func readQperfTest(test string, b []byte) (r Statement, _ error) {
	proto, what, _ := strings.Cut(test, "_")
	if proto != "tcp" && proto != "udp" || what != "bw" && what != "lat" {
		return r, errors.New("not one of tcp_bw, udp_bw, tcp_lat, udp_lat")
	}
	values, err := qperfValues(b)
	if err != nil {
		return r, err
	}
	get := func(name string) rounded {
		v, ok := values[name]
		if !ok && err == nil {
			err = fmt.Errorf("no %s: cut off, or the test failed (%.100q)", name, strings.TrimSpace(string(b)))
		}
		return v
	}
	udp := proto == "udp"
	if what == "lat" {
		r = statement("qperf-"+proto+"-rr", QperfRR{UDP: udp}, proto)
		record.RTTDoubled.Put(r.Observed, true)
		r.add(record.RTTMean, "s", 2*get("latency").value)
	} else {
		r = statement("qperf-"+proto, Qperf{UDP: udp}, proto)
		bw := "bw"
		if udp {
			bw = "recv_bw"
		}
		r.add(record.Throughput, "bit/s", get(bw).value)
		if udp {
			r.qperfLoss(get("send_bw"), get("recv_bw"), values)
		}
	}
	if size, ok := values["msg_size"]; ok {
		r.Levels["size"] = whole(size.value)
		if udp {
			r.Datagram = int(size.value)
		}
	}
	if s, ok := values["time"]; ok {
		r.add(record.Window, "s", s.value)
	}
	return r, err
}

// qperfLoss adds the loss: of the bytes if qperf printed them (-vvs), otherwise of the rates, if they have
// digits enough to show one.
func (r *Statement) qperfLoss(sent, got rounded, values map[string]rounded) {
	if s, ok := values["loc_send_bytes"]; ok {
		if g, ok := values["rem_recv_bytes"]; ok {
			sent, got = s, g
		}
	}
	if !(sent.value > 0) {
		return
	}
	known := (sent.rounding + got.rounding) / sent.value
	if known > 1e-4 {
		r.Notes = append(r.Notes, record.NoteCoarseLoss.With(strconv.FormatFloat(100*known, 'g', 2, 64)))
	}
	r.add(record.Loss, "1", max(0, 1-got.value/sent.value))
}

// qperfValues returns the numbers in base units by name.
func qperfValues(b []byte) (map[string]rounded, error) {
	out := map[string]rounded{}
	for _, m := range qperfValueRE.FindAllSubmatch(b, -1) {
		unit, ok := qperfScale[string(m[3])]
		if !ok {
			continue // of a quantity that is not imported, such as ns/GB
		}
		text, exact := m[2], m[4]
		if len(exact) > 0 {
			text, unit = exact, 1
		}
		v, err := parseRounded([]byte(strings.ReplaceAll(string(text), ",", "")))
		if err != nil {
			return nil, err
		}
		out[string(m[1])] = v.times(unit)
	}
	return out, nil
}
