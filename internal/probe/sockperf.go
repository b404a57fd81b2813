package probe

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/record"
)

// SockperfRR measures response times with sockperf's ping-pong, one request at a time. It waits forever
// for a lost reply: its window ends there, and it cannot report loss.
//
// sockperf prints half of the round trip, which the probe doubles. It excludes the first 400 ms and
// the last 50 ms of its run, so the window is shorter than requested. weir does not use its
// throughput mode, which counts what was sent. Version 3.7 supports only IPv4.
type SockperfRR struct {
	TCP  bool `yaml:"tcp"`  // TCP instead of UDP
	Size int  `yaml:"size"` // bytes of request and reply, at least 14; default 64
}

// SockperfLoad measures response times with sockperf's under-load: requests at a fixed rate, one in
// a hundred answered. See SockperfRR.
type SockperfLoad struct {
	TCP  bool `yaml:"tcp"`  // TCP instead of UDP
	Size int  `yaml:"size"` // bytes of request and reply, at least 14; default 64
	Rate int  `yaml:"rate"` // requests/s; default 10000
}

const (
	sockperfMin   = 14     // bytes: its header
	sockperfRate  = 10_000 // requests/s: the tool's own default
	sockperfEvery = 100    // requests per reply: the tool's own default
)

// sockperfInfo adds the common fields. Before its own warm-up, sockperf calibrates the CPU's time
// stamp counter for about two seconds.
func sockperfInfo(i Info) Info {
	i.Tools = []facts.ToolInfo{{Program: "sockperf", Package: "sockperf", VersionArgs: []string{"--version"}, Version: `version (\S+)`}}
	i.Unit, i.NoWarmup, i.StartsLate = "s", true, true
	return i
}

func (p SockperfRR) Info() Info {
	return sockperfInfo(responseBy("sockperf", !p.TCP,
		"median; sockperf prints half the round trip, which weir doubles; excludes the first 400 ms and the last 50 ms of its run"))
}

func (p SockperfLoad) Info() Info {
	return sockperfInfo(Info{Datagrams: !p.TCP, Title: "Requests under load (sockperf)", Short: "response time under load by sockperf",
		About: "response time at a request rate with few answers, by sockperf's under-load"})
}

func (p SockperfRR) Check() error {
	return event.Within("sockperf: size", or(p.Size, defaultMessage), sockperfMin, event.MaxDatagram, "bytes")
}

func (p SockperfLoad) Check() error {
	return cmp.Or(event.CheckRate("sockperf", or(p.Rate, sockperfRate)), SockperfRR{Size: p.Size}.Check())
}

func (p SockperfRR) Commands(w Window) (server, client []string) {
	return sockperf(w, "ping-pong", p.TCP, or(p.Size, defaultMessage))
}

func (p SockperfLoad) Commands(w Window) (server, client []string) {
	server, client = sockperf(w, "under-load", p.TCP, or(p.Size, defaultMessage))
	return server, append(client, "--mps", strconv.Itoa(or(p.Rate, sockperfRate)), "--reply-every", strconv.Itoa(sockperfEvery))
}

func sockperf(w Window, mode string, tcp bool, size int) (server, client []string) {
	at := func(a netip.AddrPort) []string {
		args := []string{"-i", a.Addr().String(), "-p", strconv.Itoa(int(a.Port()))}
		if tcp {
			args = append(args, "--tcp")
		}
		return args
	}
	// Without --uc-reuseaddr it cannot listen where another server has just listened.
	server = append([]string{"sockperf", "server", "--uc-reuseaddr"}, at(w.Server)...)
	client = append([]string{"sockperf", mode}, at(w.call())...)
	return server, append(client, "-t", wholeSeconds(w.Duration), "-m", strconv.Itoa(size))
}

// Parse reads rtt (s, median), rtt.p99 and rtt.p999 (s, if at least ten response times lie above
// them), rtt.mean (s), transactions (1/s) and window.
func (p SockperfRR) Parse(out Output) (Measured, error) {
	return parseSockperf(out.Client, p.TCP, or(p.Size, defaultMessage), 1)
}

// Parse reads the values of SockperfRR, and requests and loss. All three count only the requests that
// want an answer.
func (p SockperfLoad) Parse(out Output) (Measured, error) {
	return parseSockperf(out.Client, p.TCP, or(p.Size, defaultMessage), sockperfEvery)
}

// sockperfLines match lines of sockperf 3.7 and name their groups. Lines with "Total Run" include
// the warm-up.
var sockperfLines = []struct {
	re    *regexp.Regexp
	names []string
}{
	{regexp.MustCompile(`== version #(\S+)`), []string{"version"}},
	{regexp.MustCompile(`\[Valid Duration\] RunTime=(\d+\.\d+) sec; SentMessages=(\d+); ReceivedMessages=(\d+)`),
		[]string{"valid duration", "sent messages", "received messages"}},
	{regexp.MustCompile(`====> avg-latency=\s*(\d+\.\d+) `), []string{"avg-latency"}},
	{regexp.MustCompile(`# dropped messages = (\d+); # duplicated messages = \d+; # out-of-order messages = \d+`), []string{"dropped messages"}},
}

var (
	sockperfErrorRE = regexp.MustCompile(`(?m)^sockperf: +(ERROR: .*|No messages were received.*|No valid observations found).*$`)
	sockperfPartRE  = regexp.MustCompile(`---> percentile (\d+\.\d+) =\s*(\d+\.\d+)`)
	sockperfEndRE   = regexp.MustCompile(`---> <MIN> observation =`)
)

func sockperfFields(b []byte) *fields {
	p := &fields{text: map[string]string{}}
	for _, r := range sockperfLines {
		if m := r.re.FindSubmatch(b); m != nil {
			for i, n := range r.names {
				p.text[n] = string(m[i+1])
			}
		}
	}
	for _, m := range sockperfPartRE.FindAllSubmatch(b, -1) {
		p.text["percentile "+string(m[1])] = string(m[2])
	}
	return p
}

func parseSockperf(b []byte, tcp bool, size int, every float64) (Measured, error) {
	if m := sockperfErrorRE.FindSubmatch(b); m != nil {
		return Measured{}, fmt.Errorf("sockperf: %s", m[1])
	}
	p := sockperfFields(b)
	const roundTrip = 2e-6 // half a round trip in µs to a whole one in s
	n, sent, seconds := p.number("received messages"), p.number("sent messages"), p.number("valid duration")
	dropped := p.number("dropped messages")
	half := map[string]float64{}
	for _, q := range []string{"50.000", "99.000", "99.900"} {
		half[q] = p.number("percentile " + q)
	}
	mean := p.number("avg-latency")
	switch {
	case p.err != nil:
		return Measured{}, fmt.Errorf("sockperf: %w", p.err)
	case !sockperfEndRE.Match(b):
		return Measured{}, fmt.Errorf("sockperf: the output is cut off")
	case n == 0 || seconds == 0:
		return Measured{}, fmt.Errorf("sockperf: %.0f answers in %v s", n, seconds)
	case n > sent/every+1 || dropped > sent:
		return Measured{}, fmt.Errorf("sockperf: impossible: %.0f answers and %.0f lost of %.0f requests, with one in %.0f to be answered", n, dropped, sent, every)
	}
	m := carrier(!tcp, size, kernelCC)
	record.Tool.Put(m.Observed, "sockperf "+p.text["version"])
	record.RTTDoubled.Put(m.Observed, true)
	record.Warmup.Put(m.Observed, 400*time.Millisecond) // its own
	m.Values = []record.Value{{Name: record.RTT, Unit: "s", Value: half["50.000"] * roundTrip}}
	m.Values = append(m.Values, tails(n, half["99.000"]*roundTrip, half["99.900"]*roundTrip)...)
	m.Values = append(m.Values,
		record.Value{Name: record.RTTMean, Unit: "s", Value: mean * roundTrip},
		record.Value{Name: record.Transactions, Unit: "1/s", Value: n / seconds})
	if every > 1 {
		m.Values = append(m.Values, lost(dropped, n+dropped)...)
	}
	m.Values = append(m.Values, record.Value{Name: record.Window, Unit: "s", Value: seconds})
	return checked("sockperf", m, nil)
}
