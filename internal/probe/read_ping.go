package probe

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/weir-bench/weir/record"
)

// Lines of ping(8): iputils (ping/ping_common.c), BusyBox (networking/ping.c), macOS and the BSDs (ping.c). iputils
// translates its words and not the names icmp_seq and ttl, the order of the numbers and the decimal point.
//
//	PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.
//	64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=0.051 ms
//	--- 10.0.0.2 ping statistics ---
//	3 packets transmitted, 3 received, 0% packet loss, time 2027ms
//	rtt min/avg/max/mdev = 0.051/0.060/0.075/0.010 ms
var (
	pingHeadRE  = regexp.MustCompile(`(?m)^(?:PING (?:(?:\S+ ?)?\(\S+\)|\S+)(?: from .*)?:? (?:(\d+)\(\d+\)|(\d+)(?:\(\d+\))?) |PING6\(\d+=\d+\+\d+\+(\d+) |Pinging \S+ .*\d+ |--- \S+ ping\S* )`)
	pingStartRE = regexp.MustCompile(`(?m)^PING6?[ (].*$`)
	pingEchoRE  = regexp.MustCompile(`(?m)^(?:\[\d+\.\d+\] )?\d+ .*[ :,](?:icmp_)?seq=(\d+) (?:ttl|hlim)=\d+ \S+?=(\d+(?:\.\d+)?) ?(?:ms|msec|мс|毫秒|ミリ秒|밀리초)( \(DUP!\)|\b|$)?`)
	pingEndRE   = regexp.MustCompile(`(?m)^--- .* ---\n(.*%.*)\n((?:.*\n)?)`)
	pingCountRE = regexp.MustCompile(`\d+(?:[.,]\d+)?%?`)
	pingTimesRE = regexp.MustCompile(` = (\d+\.\d+)/(\d+\.\d+)/(\d+\.\d+)(?:/(\d+\.\d+|nan))? \S+`)
)

// readPing reads one or several tests.
func readPing(b []byte) ([]Statement, error) {
	if !pingStartRE.Match(b) && bytes.Contains(b, []byte("Pinging ")) {
		return nil, errors.New("the ping of Windows counts whole milliseconds: too coarse for a network of containers")
	}
	parts := sections(b, pingStartRE)
	if parts == nil {
		parts = [][]byte{b}
	}
	return each(parts, readPingTest)
}

func readPingTest(b []byte) (r Statement, _ error) {
	end := pingEndRE.FindSubmatchIndex(b)
	switch {
	case end == nil:
		return r, errors.New("cut off: the statistics at the end are missing")
	case len(pingEndRE.FindAllIndex(b, 2)) > 1:
		return r, errors.New("statistics of several tests without their beginnings (PING …)")
	}
	counts, times := b[end[2]:end[3]], pingTimesRE.FindSubmatch(b[end[4]:end[5]])
	sent, got, err := pingCounts(string(counts))
	if err != nil {
		return r, err
	}
	h := hdrhistogram.New(1, fpingLongest, 3)
	var each []float64
	for _, m := range pingEchoRE.FindAllSubmatch(b[:end[0]], -1) {
		if bytes.Contains(m[3], []byte("DUP")) {
			return r, errors.New("answers arrived twice (DUP!): the statistics count them as answers")
		}
		if err := h.RecordValue(int64(math.Round(digits(m[2]) * 1e6))); err != nil {
			return r, fmt.Errorf("an answer after %.40s ms: %w", m[2], err)
		}
		each = append(each, digits(m[2])/1e3)
	}
	answers := float64(len(each))
	switch {
	case got == 0:
		return r, fmt.Errorf("none of %.0f requests was answered", sent)
	case times == nil:
		return r, errors.New("no line of the times (min/avg/max): cut off, or requests too small to hold a time")
	case answers > 0 && answers != got:
		return r, fmt.Errorf("%.0f answers, but the statistics count %.0f", answers, got)
	}
	r = statement("ping", Ping{}, "icmp")
	for _, size := range submatches(pingHeadRE, b) {
		if len(size) > 0 {
			r.Levels["size"] = string(size)
		}
	}
	least, mean, most := digits(times[1])/1e3, digits(times[2])/1e3, digits(times[3])/1e3
	if !(least <= mean && mean <= most) {
		return r, fmt.Errorf("impossible: min/avg/max are %s/%s/%s", times[1], times[2], times[3])
	}
	if answers > 0 {
		encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return r, err
		}
		slices.Sort(each)
		r.Values = append(r.Values, record.Value{Name: record.RTT, Unit: "s", Value: each[(len(each)-1)/2], Hist: string(encoded)})
	}
	r.add(record.RTTMean, "s", mean)
	r.add(record.RTTMin, "s", least)
	r.add(record.RTTMax, "s", most)
	if len(times[4]) > 0 && string(times[4]) != "nan" {
		r.add(record.RTTMdev, "s", digits(times[4])/1e3)
	}
	r.Values = append(r.Values, lost(sent-got, sent)...)
	return r, nil
}

// pingCounts reads the requests and answers of the statistics. They come first in every language; the share of lost
// ones, the number before the percent sign, proves it.
func pingCounts(line string) (sent, got float64, _ error) {
	all := pingCountRE.FindAllString(line, -1)
	if strings.Contains(line, "duplicate") {
		return 0, 0, errors.New("answers arrived twice: the statistics count them as answers")
	}
	for _, s := range all {
		share, ok := strings.CutSuffix(s, "%")
		if !ok {
			continue
		}
		sent, got = digits([]byte(all[0])), digits([]byte(all[1]))
		if lost := 100 * (sent - got) / sent; !(sent > 0) || got > sent || math.Abs(lost-digits([]byte(strings.Replace(share, ",", ".", 1)))) > 1 {
			return 0, 0, fmt.Errorf("the counts do not fit their share of lost requests: %.80q", line)
		}
		return sent, got, nil
	}
	return 0, 0, fmt.Errorf("%.80q has no counts", line)
}

// submatches returns the groups of the first match, nil without one.
func submatches(re *regexp.Regexp, b []byte) [][]byte {
	if m := re.FindSubmatch(b); m != nil {
		return m[1:]
	}
	return nil
}
