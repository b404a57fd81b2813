package probe

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strconv"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/facts"
)

// HTTP measures requests/s of nginx: HTTP/1.1 with wrk, over connections with one request in flight each, or HTTP/2
// without TLS with h2load, over one connection with many streams. One process serves a file in memory; one thread asks.
type HTTP struct {
	H2       bool `yaml:"h2"`       // HTTP/2, over one connection, instead of HTTP/1.1
	Size     int  `yaml:"size"`     // bytes of the response's body; default 1024
	InFlight int  `yaml:"inflight"` // requests in flight: connections of HTTP/1.1, streams of HTTP/2; default 16
}

const (
	httpSize, httpMostSize         = 1024, 64 << 20
	httpInFlight, httpMostInFlight = 16, 100
	httpMostHead                   = 1000 // bytes; nginx sends 240
)

var nginxTool = facts.ToolInfo{Program: "nginx", Package: "nginx-light", VersionArgs: []string{"-v"}, Version: `nginx/(\S+)`}

func (p HTTP) Info() Info {
	i := Info{Asks: Asks{1, or(p.InFlight, httpInFlight), or(p.Size, httpSize)}, Title: "HTTP/1.1 (wrk)", Short: "HTTP/1.1", Unit: "1/s", NoWarmup: true,
		About:  "HTTP/1.1 requests per second of nginx, by wrk",
		Method: "One process of nginx serves a file from memory, over connections that stay open, with one request in flight each. One thread of wrk asks: the busier of the two is a limit. wrk corrects its response times for coordinated omission: a slow one also counts for the requests that it held up.",
		Tools:  []facts.ToolInfo{nginxTool, {Program: "wrk", Package: "wrk", VersionArgs: []string{"-v"}, Version: `wrk \S*?(\d\S*)`}}}
	if p.H2 {
		i.Title, i.Short, i.About = "HTTP/2 (h2load)", "HTTP/2", "HTTP/2 requests per second of nginx, by h2load"
		i.Method = "One process of nginx serves a file from memory, over one connection without TLS that has several streams, one request in flight each. One thread of h2load asks: the busier of the two is a limit."
		i.Tools[1] = facts.ToolInfo{Program: "h2load", Package: "nghttp2-client", VersionArgs: []string{"--version"}, Version: `nghttp2/(\S+)`}
	}
	return i
}

func (p HTTP) Check() error {
	return cmp.Or(event.Within("http: size", or(p.Size, httpSize), 1, httpMostSize, "bytes"),
		event.Within("http: inflight", or(p.InFlight, httpInFlight), 1, httpMostInFlight, ""))
}

// nginxConf lets one process, which is all of the server, keep connections open as long as the client does.
const nginxConf = `daemon off; master_process off; pid nginx.pid; error_log stderr;
events { worker_connections 1024; }
http {
	access_log off; tcp_nodelay on; keepalive_requests 1000000000; keepalive_timeout 1h;
	client_body_temp_path c; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
	server { listen %s; root .; }
}
`

func (p HTTP) Commands(w Window) (server, client []string) {
	listen, inFlight := w.Server.String(), strconv.Itoa(or(p.InFlight, httpInFlight))
	url := "http://" + w.call().String() + "/body"
	client = []string{"wrk", "-t", "1", "-c", inFlight, "-d", wholeSeconds(w.Duration), "--latency", url}
	if p.H2 {
		listen += " http2"
		client = []string{"h2load", "-t", "1", "-c", "1", "-m", inFlight, "-D", wholeSeconds(w.Duration), url}
	}
	return []string{"weir", "host", "private", "nginx.conf=" + fmt.Sprintf(nginxConf, listen), "body:" + strconv.Itoa(or(p.Size, httpSize)),
		"--", "nginx", "-p", "/tmp/", "-c", "nginx.conf", "-e", "stderr"}, client
}

var (
	wrkTime  = `(\d+(?:\.\d+)?)(us|ms|s|m)`
	wrkMean  = regexp.MustCompile(`(?m)^    Latency +` + wrkTime + ` `)
	wrkP50   = regexp.MustCompile(`(?m)^     50% +` + wrkTime + `$`)
	wrkP99   = regexp.MustCompile(`(?m)^     99% +` + wrkTime + `$`)
	wrkCount = regexp.MustCompile(`(?m)^  (\d{1,15}) requests in (\d+\.\d+)s, (\d+\.\d+)([KMGT]?)B read$`)
	wrkRate  = regexp.MustCompile(`(?m)^Requests/sec: +(\d+\.\d+)$`)
	wrkWrong = regexp.MustCompile(`(?m)^  (Socket errors: .*|Non-2xx or 3xx responses: .*)$`)

	h2loadRate  = regexp.MustCompile(`(?m)^finished in (\d+\.\d+)s, (\d+\.\d+) req/s, `)
	h2loadCount = regexp.MustCompile(`(?m)^requests: \d+ total, \d+ started, \d+ done, (\d{1,15}) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout$`)
	h2loadCodes = regexp.MustCompile(`(?m)^status codes: (\d{1,15}) 2xx, 0 3xx, 0 4xx, 0 5xx$`)
	h2loadData  = regexp.MustCompile(`(?m)^traffic: .* \((\d{1,18})\) data$`)
	h2loadMean  = regexp.MustCompile(`(?m)^time for request: +\S+ +\S+ +` + wrkTime + ` `)
)

// Parse reads transactions (1/s), rtt (s, median) and rtt.p99 (s, if at least ten response times lie above it), which h2load
// does not print, rtt.mean (s) and window.
func (p HTTP) Parse(out Output) (Measured, error) {
	if p.H2 {
		m, err := p.h2load(out.Client)
		return checked("h2load", m, err)
	}
	m, err := p.wrk(out.Client)
	return checked("wrk", m, err)
}

func (p HTTP) wrk(b []byte) (Measured, error) {
	if m := wrkWrong.FindSubmatch(b); m != nil {
		return Measured{}, fmt.Errorf("%s", bytes.TrimSpace(m[1]))
	}
	mean, p50, p99 := wrkMean.FindSubmatch(b), wrkP50.FindSubmatch(b), wrkP99.FindSubmatch(b)
	count, rate := wrkCount.FindSubmatch(b), wrkRate.FindSubmatch(b)
	if mean == nil || (p50 == nil) != (p99 == nil) || count == nil || rate == nil {
		return Measured{}, fmt.Errorf("no whole result in %.200q", b)
	}
	n, seconds := digits(count[1]), digits(count[2])
	if r := digits(rate[1]); n == 0 || r*(seconds-0.006) > n || r*(seconds+0.006) < n {
		return Measured{}, fmt.Errorf("%.0f requests in %g s are not %g/s", n, seconds, r)
	}
	// What it read is in units of 1024, with two decimals, and has the responses' heads.
	scale := map[string]float64{"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}[string(count[4])]
	if read, least, slack := digits(count[3])*scale, n*float64(or(p.Size, httpSize)), scale/100; read+slack < least || read-slack > least+n*httpMostHead {
		return Measured{}, fmt.Errorf("%.0f responses of %.0f bytes with their heads, want bodies of %d bytes", n, read/n, or(p.Size, httpSize))
	}
	return p.measured(n, digits(rate[1]), duration(p50), duration(p99), duration(mean)), nil
}

func (p HTTP) h2load(b []byte) (Measured, error) {
	if m := h2loadCount.FindSubmatch(b); m != nil && digits(m[2])+digits(m[3])+digits(m[4]) > 0 {
		return Measured{}, fmt.Errorf("not all requests succeeded: %s", m[0])
	}
	rate, count, codes, mean := h2loadRate.FindSubmatch(b), h2loadCount.FindSubmatch(b), h2loadCodes.FindSubmatch(b), h2loadMean.FindSubmatch(b)
	if rate == nil || count == nil || codes == nil || mean == nil || digits(count[1]) == 0 {
		return Measured{}, fmt.Errorf("no whole result in %.200q", b)
	}
	// The end can come between the head of an answer and the rest.
	begun := digits(codes[1]) - digits(count[1])
	if begun < 0 || begun > float64(or(p.InFlight, httpInFlight)) {
		return Measured{}, fmt.Errorf("not all requests succeeded: %s; %s", count[0], codes[0])
	}
	data, n, size := h2loadData.FindSubmatch(b), digits(count[1]), float64(or(p.Size, httpSize))
	if data == nil || digits(data[1]) < n*size || digits(data[1]) > (n+float64(or(p.InFlight, httpInFlight)))*size {
		return Measured{}, fmt.Errorf("%.0f responses, and %q; want bodies of %.0f bytes", n, h2loadData.Find(b), size)
	}
	m := duration(mean)
	return p.measured(digits(count[1]), digits(rate[2]), 0, 0, m), inFlight(digits(rate[2]), m, or(p.InFlight, httpInFlight))
}

// measured holds n answers at a rate (1/s), and their response times (s).
func (p HTTP) measured(n, rate, p50, p99, mean float64) Measured {
	m := closedLoop(n, rate, p50, p99, mean)
	m.Moved, m.Reversed = n*float64(or(p.Size, httpSize)), true
	return m
}

// duration returns the seconds of a match of wrkTime; 0 without one.
func duration(m [][]byte) float64 {
	if m == nil {
		return 0
	}
	return digits(m[1]) * map[string]float64{"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60}[string(m[2])]
}
