package probe

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/weir-bench/weir/record"
)

// Lines of sockperf. --full-rtt prints whole round trips and calls them rtt. MBps and Mbps have
// binary prefixes; GBps is MBps/1000 (client.cpp: client_statistics, stream_statistics).
var (
	sockperfHeadRE  = regexp.MustCompile(`(?m)^sockperf[:\[]`)
	sockperfTestRE  = regexp.MustCompile(`(?m)^sockperf: .*== version #`)
	sockperfStartRE = regexp.MustCompile(`(?m)^sockperf: .*== version #|^sockperf\[CLIENT\] `)
	sockperfProtoRE = regexp.MustCompile(`PORT = *\d+ # (TCP|UDP)`)
	sockperfMeanRE  = regexp.MustCompile(`====> avg-(latency|rtt)= *(\d+\.\d+) `)
	sockperfBurstRE = regexp.MustCompile(`Summary: (?:Latency|Round trip) of burst of (\d+) messages`)
	sockperfRateRE  = regexp.MustCompile(`Summary: Message Rate is (\d+) \[msg/sec\]`)
	sockperfBandRE  = regexp.MustCompile(`Summary: BandWidth is (\d+\.\d+) ([MG])Bps \((\d+\.\d+) [MG]bps\)`)
	sockperfSentRE  = regexp.MustCompile(`Total of (\d+) messages sent in (\d+\.\d+) sec`)
)

// readSockperf reads ping-pong, under-load and throughput.
func readSockperf(b []byte) ([]Statement, error) {
	if m := sockperfErrorRE.FindSubmatch(b); m != nil {
		return nil, errors.New(string(m[1]))
	}
	// A test prints both lines in that order; older versions only the second.
	parts := sections(b, sockperfTestRE)
	if parts == nil {
		parts = sections(b, sockperfStartRE)
	}
	if parts == nil {
		return nil, errors.New("the beginning is missing: the output does not say whether it measured TCP or UDP")
	}
	return each(parts, readSockperfTest)
}

func readSockperfTest(b []byte) (r Statement, _ error) {
	proto := sockperfProtoRE.FindSubmatch(b)
	if proto == nil {
		return r, errors.New("the output does not say whether it measured TCP or UDP: its line \"[ 0] IP = …\" is missing")
	}
	udp := string(proto[1]) == "UDP"
	f := sockperfFields(b)
	var err error
	if band := sockperfBandRE.FindSubmatch(b); band != nil {
		r, err = sockperfStream(b, band, udp)
	} else {
		r, err = sockperfTimes(b, f, udp)
	}
	if v := f.text["version"]; v != "" && err == nil {
		record.Tool.Put(r.Observed, "sockperf "+v)
	}
	return r, err
}

// sockperfTimes reads response times. The answers show which client it was: ping-pong gets one for
// every request.
func sockperfTimes(b []byte, f *fields, udp bool) (r Statement, _ error) {
	mean := sockperfMeanRE.FindSubmatch(b)
	switch {
	case sockperfBurstRE.Match(b):
		return r, fmt.Errorf("times of bursts of %s messages: no probe of weir measures that", sockperfBurstRE.FindSubmatch(b)[1])
	case mean == nil || !sockperfEndRE.Match(b):
		return r, errors.New("cut off, or no message was answered")
	}
	scale := 2e-6 // half a round trip in µs
	if string(mean[1]) == "rtt" {
		scale = 1e-6
	}
	n, sent, seconds, dropped := f.number("received messages"), f.number("sent messages"), f.number("valid duration"), f.number("dropped messages")
	p50, p99, p999 := f.number("percentile 50.000")*scale, f.number("percentile 99.000")*scale, f.number("percentile 99.900")*scale
	switch {
	case f.err != nil:
		return r, f.err
	case n == 0 || seconds == 0:
		return r, fmt.Errorf("%.0f answers in %v s", n, seconds)
	case n > sent+1 || dropped > sent:
		return r, fmt.Errorf("impossible: %.0f answers and %.0f lost of %.0f requests", n, dropped, sent)
	}
	kind, info := "sockperf-rr", SockperfRR{TCP: !udp}.Info()
	// So does its time: the next request follows the answer.
	if n+dropped < 0.9*sent || n*digits(mean[2])*scale > 1.1*seconds {
		kind, info = "sockperf-load", SockperfLoad{TCP: !udp}.Info()
	}
	r = statement(kind, SockperfRR{TCP: !udp}, protocol(udp))
	r.Info, r.Levels["tcp"] = info, strconv.FormatBool(!udp)
	if scale == 2e-6 {
		record.RTTDoubled.Put(r.Observed, true)
	}
	r.add(record.RTT, "s", p50)
	r.Values = append(r.Values, tails(n, p99, p999)...)
	r.add(record.RTTMean, "s", digits(mean[2])*scale)
	r.add(record.Transactions, "1/s", n/seconds)
	if kind == "sockperf-load" { // ping-pong stands still at its first loss
		r.Values = append(r.Values, lost(dropped, n+dropped)...)
	}
	r.add(record.Window, "s", seconds)
	return r, nil
}

// sockperfStream reads what the sender sent. Over TCP that arrives, except for a socket buffer; over
// UDP, nothing says what arrived.
func sockperfStream(b []byte, band [][]byte, udp bool) (r Statement, _ error) {
	rate, all := sockperfRateRE.FindSubmatch(b), sockperfSentRE.FindSubmatch(b)
	if rate == nil || all == nil || !bytes.Contains(b, []byte("Mbps)\n")) && !bytes.Contains(b, []byte("Gbps)\n")) {
		return r, errors.New("cut off: a summary of the messages is missing")
	}
	mebi := digits(band[1])
	if string(band[2]) == "G" {
		mebi *= 1000
	}
	perSecond := digits(rate[1])
	if count, s := digits(all[1]), digits(all[2]); !(s > 0) || count/s < 0.9*perSecond || count/s > 1.1*perSecond {
		return r, fmt.Errorf("%.0f messages in %v s are not %.0f/s", count, s, perSecond)
	}
	r = statement("sockperf-throughput", SockperfRR{TCP: !udp}, protocol(udp))
	r.Info = Info{Title: "TCP stream (sockperf)", Short: "TCP by sockperf", About: "TCP throughput at the sender, by sockperf", Unit: "bit/s", Measures: tcpThroughput,
		Differs: "counted by the sender, with what was still in its socket buffer; no warm-up"}
	r.Levels["size"] = strconv.FormatFloat(mebi*(1<<20)/perSecond, 'f', 0, 64)
	if udp {
		r.Kind = "sockperf-sent"
		r.Info = Info{Title: "UDP send rate (sockperf)", Short: "UDP sent by sockperf", About: "messages that the sender sent over UDP, by sockperf", Unit: "packet/s",
			Method: "Counted by the sender: nothing says how many messages arrived. This is not throughput."}
		r.Notes = append(r.Notes, record.NoteSockperfSent.With())
		r.add(record.Sent, "packet/s", perSecond)
	} else {
		r.Notes = append(r.Notes, record.NoteSenderCount.With())
		r.add(record.Throughput, "bit/s", mebi*(8<<20))
	}
	r.add(record.Window, "s", digits(all[2]))
	return r, nil
}
