package probe

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/weir-bench/weir/record"
)

// Lines of fping -c, with or without -D, and of its summary on standard error, all that -q prints.
//
//	10.0.0.2 : [0], 64 bytes, 0.153 ms (0.153 avg, 0% loss)
//	10.0.0.2 : xmt/rcv/%loss = 100/99/1%, min/avg/max = 0.03/0.06/0.15
var (
	fpingHeadRE  = regexp.MustCompile(`(?m)^(?:\[[\d.]+\] )?\S+ +: (?:\[\d+\], |xmt/rcv/%loss = )`)
	fpingEchoRE  = regexp.MustCompile(`^(?:\[[\d.]+\] )?(\S+) +: \[\d+\], (?:timed out|\d+ bytes, (\d+(?:\.\d+)?) ms) \(`)
	fpingTotalRE = regexp.MustCompile(`^(\S+) +: xmt/rcv/%loss = (\d+)/(\d+)/\d+%(?:, min/avg/max = \d+(?:\.\d+)?/(\d+(?:\.\d+)?)/\d+(?:\.\d+)?)?\n`)
)

// readFping reads the times of one target. Without a summary, nothing marks the end of the output.
func readFping(b []byte) ([]Statement, error) {
	h := hdrhistogram.New(1, fpingLongest, 3)
	targets, requests := map[string]bool{}, 0
	var summary [][]byte
	for line := range bytes.Lines(b) {
		if echo := fpingEchoRE.FindSubmatch(line); echo != nil && bytes.HasSuffix(line, []byte("\n")) {
			targets[string(echo[1])] = true
			if requests++; len(echo[2]) > 0 {
				if err := h.RecordValue(int64(digits(echo[2]) * 1e6)); err != nil {
					return nil, fmt.Errorf("an answer after %.40s ms: %w", echo[2], err)
				}
			}
			continue
		}
		if m := fpingTotalRE.FindSubmatch(line); m != nil {
			targets[string(m[1])], summary = true, m
			continue
		}
		if text := strings.TrimSpace(string(line)); text != "" && !strings.HasPrefix(text, "ICMP ") {
			return nil, fmt.Errorf("%.80q is not a line of fping -c, or is cut off", text)
		}
	}
	r := statement("fping", Fping{}, "icmp")
	answers := int(h.TotalCount())
	switch {
	case len(targets) > 1:
		return nil, fmt.Errorf("%d targets: import a file of each", len(targets))
	case requests > 0 && summary != nil && (strconv.Itoa(requests) != string(summary[2]) || strconv.Itoa(answers) != string(summary[3])):
		return nil, fmt.Errorf("%d requests and %d answers, but the summary counts %s and %s", requests, answers, summary[2], summary[3])
	case requests > 0 && answers == 0, requests == 0 && (summary == nil || len(summary[4]) == 0):
		return nil, errors.New("no request was answered")
	case requests == 0: // -q
		sent, got := digits(summary[2]), digits(summary[3])
		if got > sent {
			return nil, fmt.Errorf("impossible: %.0f answers to %.0f requests", got, sent)
		}
		r.add(record.RTTMean, "s", digits(summary[4])/1e3)
		r.Values = append(r.Values, lost(sent-got, sent)...)
		return []Statement{r}, nil
	}
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, err
	}
	r.Values = percentiles(h, string(encoded))
	r.Values = append(r.Values, lost(float64(requests)-float64(answers), float64(requests))...)
	return []Statement{r}, nil
}
