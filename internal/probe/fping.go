package probe

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/record"
)

// Fping measures ICMP echo times with fping 4 or later at a fixed interval, without a server. It
// prints every response time, so percentiles can be computed over all trials.
type Fping struct {
	Size     int           `yaml:"size"`     // bytes of data; default 56
	Interval time.Duration `yaml:"interval"` // from one request to the next, 1 ms or more; default 10 ms
}

// fpingLongest exceeds any response time that fping waits for, in ns.
const fpingLongest = int64(3600e9)

// fpingTimeout is when a request counts as lost, ms: as in weir's own ping.
const fpingTimeout = 1000

func (p Fping) Info() Info {
	return Info{
		Title: "Ping (fping)", Short: "ping by fping", Unit: "s", NoWarmup: true,
		About:    "ICMP echo time, by fping",
		Method:   "ICMP echo, answered by the kernel. Lost requests have no response time; loss is their share of all.",
		Measures: echoTime, Datagrams: true,
		Differs: "median, in steps of 1 µs; the first request can wait for neighbor discovery; no warm-up",
		Direct:  directICMP,
		Tools:   []facts.ToolInfo{{Program: "fping", Package: "fping", VersionArgs: []string{"-v"}, Version: `Version (\S+)`}},
	}
}

func (p Fping) Check() error {
	if or(p.Interval, defaultInterval) < time.Millisecond {
		return fmt.Errorf("fping: interval %v is below 1ms", p.Interval)
	}
	return event.Within("fping: size", or(p.Size, defaultEcho), 1, event.MaxDatagram, "bytes")
}

// Every is the time between requests.
func (p Fping) Every() time.Duration { return or(p.Interval, defaultInterval) }

func (p Fping) Commands(w Window) (server, client []string) {
	interval := or(p.Interval, defaultInterval)
	n := max(1, int(w.Duration/interval))
	// By default, fping counts a reply that is slower than the interval as lost.
	return nil, []string{"fping", "-t", strconv.Itoa(fpingTimeout), "-c", strconv.Itoa(n), "-p", strconv.FormatFloat(interval.Seconds()*1e3, 'f', -1, 64),
		"-b", strconv.Itoa(or(p.Size, defaultEcho)), w.call().Addr().String()}
}

var fpingLineRE = regexp.MustCompile(`^\S+ +: \[(\d+)\], (?:timed out|(\d+) bytes, (\d+(?:\.\d+)?) ms) \(`)

// Parse reads rtt (s, median, with histogram), rtt.p99 and rtt.p999 (s, if at least ten response
// times lie above them), those of echo, requests, loss (share of requests) and window.
func (p Fping) Parse(out Output) (Measured, error) {
	h := hdrhistogram.New(1, fpingLongest, 3)
	requests := 0
	if len(out.Client) == 0 || !bytes.HasSuffix(out.Client, []byte("\n")) {
		return Measured{}, errors.New("fping: the output is cut off")
	}
	for line := range bytes.Lines(out.Client) {
		m := fpingLineRE.FindSubmatch(line)
		if m == nil {
			return Measured{}, fmt.Errorf("fping: unknown line %.100q", bytes.TrimSpace(line))
		}
		requests++
		if len(m[3]) == 0 {
			continue
		}
		ms, err := strconv.ParseFloat(string(m[3]), 64)
		if err == nil {
			err = h.RecordValue(int64(ms * 1e6))
		}
		if err != nil {
			return Measured{}, fmt.Errorf("fping: an answer after %.40s ms: %w", m[3], err)
		}
	}
	n := float64(h.TotalCount())
	if n == 0 {
		return Measured{}, fmt.Errorf("fping: none of %d requests was answered", requests)
	}
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return Measured{}, fmt.Errorf("fping: %w", err)
	}
	vs := append(append(append(percentiles(h, string(encoded)), echo(h)...), lost(float64(requests)-n, float64(requests))...),
		record.Value{Name: record.Window, Unit: "s", Value: float64(requests) * or(p.Interval, defaultInterval).Seconds()})
	return checked("fping", Measured{Protocol: "icmp", Datagram: or(p.Size, defaultEcho), Observed: record.Observed{}, Values: vs}, nil)
}
