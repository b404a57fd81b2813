package probe

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strconv"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/record"
)

// DNSPerf measures queries/s of unbound with dnsperf, over UDP: one name that the server knows itself. Any lost query makes
// the trial invalid, because dnsperf waits 5 s for it.
type DNSPerf struct {
	InFlight int `yaml:"inflight"` // queries in flight; default 16
}

const dnsInFlight, dnsMostInFlight = 16, 1000

func (p DNSPerf) Info() Info {
	return Info{Asks: Asks{1, or(p.InFlight, dnsInFlight), dnsQuery}, Title: "DNS (dnsperf)", Short: "DNS", Unit: "1/s", NoWarmup: true, StartsLate: true, Datagrams: true,
		About:  "DNS queries per second of unbound over UDP, by dnsperf",
		Method: "One thread of unbound answers queries for one name that it knows itself; one thread of dnsperf asks: the busier of the two is a limit.",
		Tools: []facts.ToolInfo{{Program: "unbound", Package: "unbound", VersionArgs: []string{"-V"}, Version: `Version (\S+)`},
			{Program: "dnsperf", Package: "dnsperf", VersionArgs: []string{"-h"}, Version: `Version (\S+)`}}}
}

func (p DNSPerf) Check() error {
	return event.Within("dnsperf: inflight", or(p.InFlight, dnsInFlight), 1, dnsMostInFlight, "")
}

const unboundConf = `server:
  interface: %s
  port: %s
  do-daemonize: no
  num-threads: 1
  username: ""
  chroot: ""
  directory: "."
  pidfile: ""
  use-syslog: no
  ip-freebind: no
  access-control: 0.0.0.0/0 allow
  access-control: ::/0 allow
  local-zone: "weir.test." static
  local-data: "a.weir.test. A 192.0.2.1"
remote-control:
  control-enable: no
`

func (p DNSPerf) Commands(w Window) (server, client []string) {
	server = []string{"weir", "host", "private", "unbound.conf=" + fmt.Sprintf(unboundConf, w.Server.Addr(), port(w)), "--", "unbound", "-d", "-c", "unbound.conf"}
	return server, []string{"weir", "host", "private", "queries=a.weir.test A\n", "--", "dnsperf", "-s", w.call().Addr().String(), "-p", callPort(w),
		"-d", "queries", "-l", wholeSeconds(w.Duration), "-c", "1", "-T", "1", "-q", strconv.Itoa(or(p.InFlight, dnsInFlight))}
}

var (
	dnsCount = regexp.MustCompile(`(?m)^  Queries sent: +(\d{1,15})\n  Queries completed: +(\d{1,15}) .*\n  Queries lost: +(\d{1,15}) `)
	dnsCodes = regexp.MustCompile(`(?m)^  Response codes: +NOERROR (\d{1,15}) \(100\.00%\)$`)
	dnsTime  = regexp.MustCompile(`(?m)^  Run time \(s\): +(\d+\.\d+)\n  Queries per second: +(\d+\.\d+)$`)
	dnsMean  = regexp.MustCompile(`(?m)^  Average Latency \(s\): +(\d+\.\d+) \(`)
)

// Parse reads transactions (1/s), rtt.mean (s) and window.
func (p DNSPerf) Parse(out Output) (Measured, error) {
	b := out.Client
	count, seconds, mean := dnsCount.FindSubmatch(b), dnsTime.FindSubmatch(b), dnsMean.FindSubmatch(b)
	if count == nil || seconds == nil || mean == nil {
		return Measured{}, fmt.Errorf("dnsperf: no whole result in %.200q", b)
	}
	codes := dnsCodes.FindSubmatch(b)
	if codes == nil || !bytes.Equal(count[1], count[2]) || !bytes.Equal(count[2], codes[1]) {
		return Measured{}, fmt.Errorf("dnsperf: %s queries were sent, %s were answered and %s were lost; want an answer without error to each", count[1], count[2], count[3])
	}
	n, s, rate := digits(count[2]), digits(seconds[1]), digits(seconds[2])
	m := closedLoop(n, rate, 0, 0, digits(mean[1]))
	m.Protocol, m.Datagram = "udp", dnsQuery
	m.Values[len(m.Values)-1] = record.Value{Name: record.Window, Unit: "s", Value: s}
	err := inFlight(rate, digits(mean[1]), or(p.InFlight, dnsInFlight))
	if d := rate*s - n; d*d > 1 {
		err = cmp.Or(err, fmt.Errorf("%.0f queries in %g s are not %g/s", n, s, rate))
	}
	return checked("dnsperf", m, err)
}

// dnsQuery is the payload of a query for a.weir.test: the header, the name and its type and class (RFC 1035, 4.1).
const dnsQuery = 12 + 13 + 4
