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

// Lines of fping -c and -C, with or without -D, and of their summaries on standard error, all that -q prints, and what -s adds.
//
//	10.0.0.2 : [0], 64 bytes, 0.153 ms (0.153 avg, 0% loss)
//	10.0.0.2 : xmt/rcv/%loss = 100/99/1%, min/avg/max = 0.03/0.06/0.15
//	10.0.0.2 : 0.153 0.06 - 0.031
var (
	fpingHeadRE  = regexp.MustCompile(`(?m)^(?:\[[\d.]+\] )?\S+ +: (?:\[\d+\], |xmt/rcv/%loss = )|^\S*[.:]\S* +: (?:\d+(?:\.\d+)?|-)(?: (?:\d+(?:\.\d+)?|-))+\n`)
	fpingEachRE  = regexp.MustCompile(`^(\S*[.:]\S*) +: ((?:\d+(?:\.\d+)?|-)(?: (?:\d+(?:\.\d+)?|-))+)\n`)
	fpingStatRE  = regexp.MustCompile(`^ *\d+(?:\.\d+)? (?:targets|alive|unreachable|unknown addresses|timeouts|ICMP Echo|other ICMP|ms \(|sec \()`)
	fpingEchoRE  = regexp.MustCompile(`^(?:\[[\d.]+\] )?(\S+) +: \[\d+\], (?:timed out|\d+ bytes, (\d+(?:\.\d+)?) ms) \(`)
	fpingTotalRE = regexp.MustCompile(`^(\S+) +: xmt/rcv/%loss = (\d+)/(\d+)/\d+%(?:, min/avg/max = \d+(?:\.\d+)?/(\d+(?:\.\d+)?)/\d+(?:\.\d+)?)?\n`)
)

// An fpingCount is what the lines of one output add up to.
type fpingCount struct {
	times    *hdrhistogram.Histogram // ns
	targets  map[string]bool
	requests int
	summary  [][]byte // of fpingTotalRE
}

// add counts a request, with its response time in ms if it was answered.
func (c *fpingCount) add(ms []byte) error {
	c.requests++
	if len(ms) == 0 {
		return nil
	}
	if err := c.times.RecordValue(int64(digits(ms) * 1e6)); err != nil {
		return fmt.Errorf("an answer after %.40s ms: %w", ms, err)
	}
	return nil
}

// line reads one line. The times of -C repeat those of the lines before, which -q leaves out.
func (c *fpingCount) line(line []byte) error {
	if echo := fpingEchoRE.FindSubmatch(line); echo != nil && bytes.HasSuffix(line, []byte("\n")) {
		c.targets[string(echo[1])] = true
		return c.add(echo[2])
	}
	if m := fpingTotalRE.FindSubmatch(line); m != nil {
		c.targets[string(m[1])], c.summary = true, m
		return nil
	}
	if m := fpingEachRE.FindSubmatch(line); m != nil {
		c.targets[string(m[1])] = true
		all := bytes.Fields(m[2])
		if c.requests > 0 && c.requests != len(all) {
			return fmt.Errorf("%d requests, but -C lists %d", c.requests, len(all))
		}
		for c.requests < len(all) {
			if err := c.add(bytes.Trim(all[c.requests], "-")); err != nil {
				return err
			}
		}
		return nil
	}
	if text := strings.TrimSpace(string(line)); text != "" && !strings.HasPrefix(text, "ICMP ") && !fpingStatRE.Match(line) {
		return fmt.Errorf("%.80q is not a line of fping -c, or is cut off", text)
	}
	return nil
}

// readFping reads the times of one target. Without a summary, nothing marks the end of the output.
func readFping(b []byte) ([]Statement, error) {
	c := fpingCount{times: hdrhistogram.New(1, fpingLongest, 3), targets: map[string]bool{}}
	for line := range bytes.Lines(b) {
		if err := c.line(line); err != nil {
			return nil, err
		}
	}
	h, targets, requests, summary := c.times, c.targets, c.requests, c.summary
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
