package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/weir-bench/weir/record"
)

type native struct {
	workload string
	size     int
}

func (n native) Commands(w Window) (srv, cli []string) {
	return []string{"weir", "engine", "serve", w.Server.String()},
		[]string{"weir", "engine", "run", n.workload, w.Server.String(), "--warmup", w.Warmup.String(), "--duration", w.Duration.String(), "--size", strconv.Itoa(n.size)}
}

func (n native) Parse(o Output) (m Measured, err error) {
	lines := bytes.Split(bytes.TrimSpace(o.Client), []byte("\n"))
	var r map[string]any
	if err := json.Unmarshal(lines[len(lines)-1], &r); err != nil {
		return m, err
	}
	f := func(k string) float64 { v, _ := r[k].(float64); return v }
	if r["event"] != "result" {
		return m, fmt.Errorf("%v", r)
	}
	w := f("window")
	switch n.workload {
	case "tcp-stream":
		m.Values = []record.Value{{Name: "throughput", Unit: "bit/s", Value: f("bytes") * 8 / w}}
		m.Found = map[string]string{"protocol": "tcp"}
	case "udp-stream":
		m.Values = []record.Value{{Name: "throughput", Unit: "bit/s", Value: f("bytes") * 8 / w}, {Name: "packet.rate", Unit: "packet/s", Value: f("delivered") / w},
			{Name: "offered", Unit: "packet/s", Value: f("offered") / w}, {Name: "sent", Unit: "packet/s", Value: f("sent") / w}, {Name: "received", Unit: "packet/s", Value: f("received") / w}, {Name: "delivered", Unit: "packet/s", Value: f("delivered") / w},
			{Name: "loss", Unit: "1", Value: 1 - f("delivered")/f("sent")}}
		m.Found = map[string]string{"protocol": "udp", "datagram": strconv.Itoa(n.size)}
	default:
		m.Values = []record.Value{{Name: "rtt", Unit: "s", Value: w / f("transactions"), Hist: r["hist"].(string)}, {Name: "transactions", Unit: "1/s", Value: f("transactions") / w}}
	}
	m.Values = append(m.Values, record.Value{Name: "window", Unit: "s", Value: w})
	return m, nil
}

type TCPStream struct {
	Size int `yaml:"size"`
}

func (p TCPStream) n() native                         { return native{"tcp-stream", p.Size} }
func (p TCPStream) Commands(w Window) (a, b []string) { return p.n().Commands(w) }
func (p TCPStream) Parse(o Output) (Measured, error)  { return p.n().Parse(o) }

type UDPStream struct {
	Size int `yaml:"size"`
}

func (p UDPStream) n() native {
	if p.Size == 0 {
		p.Size = 1400
	}
	return native{"udp-stream", p.Size}
}
func (p UDPStream) Commands(w Window) (a, b []string) { return p.n().Commands(w) }
func (p UDPStream) Parse(o Output) (Measured, error)  { return p.n().Parse(o) }

type UDPRate struct{}

func (p UDPRate) n() native                         { return native{"udp-stream", 18} }
func (p UDPRate) Commands(w Window) (a, b []string) { return p.n().Commands(w) }
func (p UDPRate) Parse(o Output) (Measured, error) {
	m, err := p.n().Parse(o)
	if err == nil {
		m.Values[0], m.Values[1] = m.Values[1], m.Values[0]
	}
	return m, err
}

type TCPRR struct {
	Size int `yaml:"size"`
}

func (p TCPRR) n() native                         { return native{"tcp-rr", p.Size} }
func (p TCPRR) Commands(w Window) (a, b []string) { return p.n().Commands(w) }
func (p TCPRR) Parse(o Output) (Measured, error)  { return p.n().Parse(o) }

type UDPRR struct {
	Size int `yaml:"size"`
}

func (p UDPRR) n() native                         { return native{"udp-rr", p.Size} }
func (p UDPRR) Commands(w Window) (a, b []string) { return p.n().Commands(w) }
func (p UDPRR) Parse(o Output) (Measured, error)  { return p.n().Parse(o) }

type Ping struct{ TCPRR }
type Iperf3 struct {
	TCPRR
	UDP bool
}
