package probe

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// HTTPRR measures response times of HTTP between two ends of weir: HTTP/1.1 over connections that stay or are new for each
// request, with or without TLS 1.3, or HTTP/2 over TLS with streams of one connection, as it is or below gRPC.
type HTTPRR struct {
	H2       bool   `yaml:"h2"`       // HTTP/2 over TLS, instead of HTTP/1.1
	GRPC     bool   `yaml:"grpc"`     // unary calls of gRPC, over HTTP/2 and TLS
	TLS      bool   `yaml:"tls"`      // HTTP/1.1 over TLS 1.3
	Connect  bool   `yaml:"connect"`  // HTTP/1.1: a new connection for each request
	Resume   bool   `yaml:"resume"`   // with connect and tls: the session of the connection before, instead of a full handshake
	Size     int    `yaml:"size"`     // bytes of the response's body, to 1 MiB; default 64
	Sizes    string `yaml:"sizes"`    // instead of size: a file with up to 1000 lines of bytes (1 to 1048576) and their weight (1 to 10^9), or the same between commas
	InFlight int    `yaml:"inflight"` // requests in flight: connections of HTTP/1.1, streams of HTTP/2, to 100; default 1
	Rate     int    `yaml:"rate"`     // requests/s on a schedule; default none: each follows the answer before
}

// webMethod says how the time of a request counts, and which response does.
const webMethod = "With a rate, time counts from when a request was due. A response of another status or size fails the trial."

func (p HTTPRR) Info() Info {
	i := Info{Title: "HTTP/1.1 request/response", Short: "HTTP/1.1 response time", Unit: "s", DeliveryUnit: "1/s",
		About:  "HTTP/1.1 response time over connections that stay open (native)",
		Method: "A GET and its response over HTTP/1.1. " + webMethod}
	if inFlight := or(p.InFlight, 1); p.Rate == 0 && p.Sizes == "" && inFlight == 1 { // response times of more are not those of a busy server alone
		i.Asks = Asks{1, inFlight, or(p.Size, defaultMessage)}
		for _, more := range []bool{p.Connect, p.Connect && p.TLS} { // TCP, TLS 1.3
			if more {
				i.Asks.RoundTrips++
			}
		}
	}
	switch {
	case p.GRPC:
		i.Title, i.Short, i.About = "gRPC request/response", "gRPC response time", "response time of unary gRPC calls over the streams of one connection with TLS 1.3 (native)"
		i.Method = "A unary gRPC call and its answer over HTTP/2 with TLS 1.3, framed by weir, without the interceptors and the retries of a gRPC library. net/http of Go serves it; the client writes and reads the frames of x/net/http2 itself. With a rate, time counts from when a call was due. An answer of another status or size fails the trial."
	case p.H2:
		i.Title, i.Short, i.About = "HTTP/2 request/response", "HTTP/2 response time", "HTTP/2 response time over the streams of one connection with TLS 1.3 (native)"
		i.Method = "A GET and its response over HTTP/2 with TLS 1.3. net/http of Go serves it, and its goroutines take part of the time; the client writes and reads the frames of x/net/http2 itself. " + webMethod
	case p.Connect && p.Resume:
		i.Title, i.Short, i.About = "TLS resumption", "TLS resumption time", "time of a connection, a resumed TLS 1.3 handshake and an HTTP request (native)"
		i.Method = "A new connection, a TLS 1.3 handshake that resumes the session of the connection before, a GET and its response. " + webMethod
	case p.Connect && p.TLS:
		i.Title, i.Short, i.About = "TLS handshake", "TLS connect time", "time of a connection, a full TLS 1.3 handshake and an HTTP request (native)"
		i.Method = "A new connection, a full TLS 1.3 handshake with a P-256 certificate, a GET and its response. " + webMethod
	case p.Connect:
		i.Title, i.Short, i.About = "HTTP/1.1 connect/request/response", "HTTP/1.1 connect time", "time of a connection and an HTTP/1.1 request (native)"
		i.Method = "A new connection, a GET and its response. " + webMethod
	case p.TLS:
		i.Title, i.Short, i.About = "HTTP/1.1 over TLS", "HTTPS response time", "HTTP/1.1 response time over connections with TLS 1.3 that stay open (native)"
		i.Method = "A GET and its response over HTTP/1.1 with TLS 1.3. " + webMethod
	}
	return i
}

func (p HTTPRR) workload() string {
	switch {
	case p.GRPC:
		return "grpc-rr"
	case p.H2:
		return "h2-rr"
	case p.Connect:
		return "http-connect"
	}
	return "http-rr"
}

func (p HTTPRR) Check() error {
	switch {
	case p.GRPC && (p.H2 || p.TLS || p.Connect || p.Resume):
		return errors.New("grpc: it has HTTP/2, TLS and one connection; leave out h2, tls, connect and resume")
	case p.H2 && (p.TLS || p.Connect || p.Resume):
		return errors.New("h2: it has TLS and one connection; leave out tls, connect and resume")
	case p.Resume && !(p.TLS && p.Connect):
		return errors.New("resume: a session is of TLS and of new connections; add tls: true and connect: true")
	}
	return cmp.Or(checkSizes(p.Sizes, p.Size), checkWebRate(p.workload(), p.Rate), event.CheckMessages(p.workload(), or(p.Size, defaultMessage), or(p.InFlight, 1)))
}

func checkSizes(sizes string, size int) error {
	if sizes == "" {
		return nil
	}
	if _, err := event.ParseSizes(sizes); err != nil {
		return fmt.Errorf("sizes: %w", err)
	}
	if size != 0 {
		return errors.New("size and sizes: give one of them")
	}
	return nil
}

func checkWebRate(workload string, rate int) error {
	if rate == 0 {
		return nil
	}
	return event.CheckRate(workload, rate)
}

func (p HTTPRR) Commands(w Window) (server, client []string) {
	flags := webFlags(w, p.InFlight, p.Rate)
	for _, f := range []struct {
		on   bool
		flag string
	}{{p.TLS, "--tls"}, {p.Resume, "--resume"}} {
		if f.on {
			flags = append(flags, f.flag)
		}
	}
	if p.Sizes != "" {
		flags = append(flags, "--sizes", p.Sizes)
	}
	return engineRun(w, p.workload(), or(p.Size, defaultMessage), flags...)
}

func webFlags(w Window, inFlight int, rate int) []string {
	flags := append([]string{"--inflight", strconv.Itoa(or(inFlight, 1))}, w.chooseCC("--cc", "")...)
	if rate != 0 {
		flags = append(flags, "--rate", strconv.Itoa(rate))
	}
	return flags
}

// Parse reads the values of web; the responses' bodies crossed the path.
func (p HTTPRR) Parse(out Output) (Measured, error) {
	var r event.Web
	n := parseNative(out, p.workload(), &r)
	m, err := n.web("tcp", r, p.Connect, p.Resume, or(p.InFlight, 1))
	m.bodies(r, or(p.Size, defaultMessage), p.Sizes)
	return m, err
}

// bodies adds what the bodies of responses say, unless m is that of an error.
func (m *Measured) bodies(r event.Web, size int, sizes string) {
	m.Moved, m.Reversed = float64(r.Transactions)*float64(size), true
	if sizes == "" {
		return
	}
	m.Moved = float64(r.Bytes)
	if len(m.Values) > 0 {
		m.Values = append(m.Values, record.Value{Name: record.SizeMean, Unit: "byte", Value: float64(r.Bytes) / float64(max(r.Transactions, 1))})
	}
}

// web returns the values of closed or, with a rate, those of UDPOpen, and of new connections rtt.connect and rtt.handshake (s,
// medians, with histograms).
func (n *native) web(protocol string, r event.Web, opens, resumes bool, inFlight int) (Measured, error) {
	if n.err == nil {
		if err := r.Check(opens, resumes); err != nil {
			n.fail("impossible: %w", err)
		}
		n.require(r.Inflight == inFlight, "%d requests in flight, asked for %d", r.Inflight, inFlight)
	}
	parts := func(h *hdrhistogram.Histogram) (values []record.Value) {
		if opens && r.Congestion != "" {
			values = n.connect(r.ConnectHist, h)
		}
		if r.HandshakeHist == "" {
			return values
		}
		shake := n.part("handshakeHist", r.HandshakeHist, h)
		if shake == nil {
			return nil
		}
		return append(values, record.Value{Name: record.RTTHandshake, Unit: "s", Value: quantile(shake, 50), Hist: r.HandshakeHist})
	}
	settings := []record.Observation{n.loop(r.RR)}
	if r.Congestion != "" {
		settings = append(settings, record.Congestion.Is(r.Congestion), record.ServerCongestion.Is(r.FarCongestion))
	}
	if r.Rate == 0 {
		return n.measured(protocol, r.Head, n.closed(r.RR, 0, parts), settings...)
	}
	values, _ := n.responses(r.RR, parts)
	values = append(values, record.Value{Name: record.Late, Unit: "1", Value: float64(r.LateSends) / float64(max(r.Offered, 1))},
		record.Value{Name: record.Stalls, Unit: "1", Value: float64(r.Stalls)}, record.Value{Name: record.Window, Unit: "s", Value: r.Window})
	return n.measured(protocol, r.Head, values, append(settings, record.Rate.Is(r.Rate))...)
}
