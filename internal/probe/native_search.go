package probe

import (
	"fmt"
	"strconv"
	"time"

	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// UDPCapacity measures how many datagrams per second a path carries while it loses
// no more than a bound: the throughput of RFC 2544, section 26.1, where that is 0,
// and a partial drop rate else. What arrives of a stream that is sent as fast as
// possible (UDPRate) may be more, and where a path collapses less.
type UDPCapacity struct {
	Size  int    `yaml:"size"`  // bytes of payload per datagram; default 18
	Loss  string `yaml:"loss"`  // the most that may be lost, of what is offered; 0 is the no-drop rate; default 0.5%
	Send  string `yaml:"send"`  // single (one sendto per datagram, the default), mmsg (sendmmsg) or gso (UDP_SEGMENT: one buffer for many, cut as late as possible)
	Batch int    `yaml:"batch"` // datagrams per call; default 1 for single, 32 for mmsg, and for gso what a buffer of 65507 bytes holds, 64 at most
	Recv  string `yaml:"recv"`  // single (recvmsg), mmsg (recvmmsg) or gro (UDP_GRO: what arrives in one buffer stays in it); default gro for gso, else mmsg
}

const (
	// defaultLossRatio is the bound of the partial drop rate that FD.io CSIT publishes.
	defaultLossRatio = 0.005
	// searchWidth is how close the bounds of a capacity are, and searchPhase how long a
	// rate is tried at a time.
	searchWidth = "2%"
	searchPhase = 100 * time.Millisecond
	// searchTime is what a search gets at least; most are over in half of it. A study's
	// windows are shorter than some twenty phases.
	searchTime = 5 * time.Second
)

func (p UDPCapacity) path() udpPath {
	return udpPath{or(p.Size, smallDatagram), p.Send, p.Batch, p.Recv}.filled()
}

// ratio is the loss that is allowed.
func (p UDPCapacity) ratio() (float64, error) {
	if p.Loss == "" {
		return defaultLossRatio, nil
	}
	return unit.ParsePercent(p.Loss)
}

// Kind is how such a capacity is called: "NDR", or "PDR 0.5%".
func (p UDPCapacity) Kind() string {
	if ratio, _ := p.ratio(); ratio > 0 {
		return "PDR " + percent(ratio)
	}
	return "NDR"
}

func percent(ratio float64) string { return strconv.FormatFloat(100*ratio, 'g', 6, 64) + "%" }

// Check returns an error that names the option and its bound.
func (p UDPCapacity) Check() error {
	ratio, err := p.ratio()
	switch {
	case err != nil:
		return fmt.Errorf("loss: %w", err)
	case ratio >= 1:
		return fmt.Errorf("loss: %s is not below 100%%", p.Loss)
	}
	return p.path().check()
}

// Habits: a search ends by itself, and takes longer than a study's window.
func (p UDPCapacity) Habits() Habits { return Habits{Lasts: searchTime} }

func (p UDPCapacity) Commands(w Window) (server, client []string) {
	ratio, _ := p.ratio() // Check has told of an error
	w.Duration = max(w.Duration, searchTime)
	path := p.path()
	return engineRun(w, "udp-search", path.size, "--loss", percent(ratio), "--width", searchWidth, "--phase", searchPhase.String(),
		"--send", path.send, "--batch", strconv.Itoa(path.batch), "--recv", path.recv, "--nap", lookEvery.String())
}

// A tried is a rate that a search offered for a while, and what became of it: packet/s
// (0 is flat out), seconds, and datagrams.
type tried struct {
	Asked, Window, Queue                       float64
	Offered, Refused, Sent, Delivered, Dropped float64
}

// carried is the rate at which datagrams arrived, as the engine computes it.
func (t tried) carried() float64 { return min(t.Delivered/(t.Window+t.Queue), t.Asked) }

// Parse reads capacity (packet/s, the highest rate that was found to be carried, and
// at which datagrams arrived then), goodput (bit/s of payload at that rate), loss (of
// what was offered at it, in all phases), capacity.upper (packet/s, the lowest rate
// that more was lost at; where one is known), and capacity.inverted (packet/s, a rate
// above that at which less was lost; where there was one). Found says which capacity it
// is, and what limited it: the path, the sender, or the time of the search.
func (p UDPCapacity) Parse(out Output) (Measured, error) {
	r, err := parseNative(out.Client, "udp-search")
	if err != nil {
		return Measured{}, err
	}
	lower, load, upper, inverted := r.number("lower"), r.number("load"), r.number("upper"), r.number("inverted")
	size, ratio, limit := r.count("size"), r.number("loss"), r.text("limit")
	var phases []tried
	r.get("phases", &phases)
	var at tried // all phases of the load together
	var delivered float64
	known := false // one of them is what lower tells
	for i, t := range phases {
		r.require(t.Window > 0 && t.Queue >= 0 && t.Asked >= 0, "phase %d: %+v", i+1, t)
		r.require(t.Refused >= 0 && t.Dropped >= 0 && t.Delivered >= 0 && t.Offered >= t.Sent+t.Refused && t.Sent >= t.Delivered+t.Dropped,
			"phase %d: the ladder offered %.0f, refused %.0f, sent %.0f, delivered %.0f, dropped %.0f goes up", i+1, t.Offered, t.Refused, t.Sent, t.Delivered, t.Dropped)
		delivered += t.Delivered
		if t.Asked == load {
			at.Sent, at.Refused, at.Delivered = at.Sent+t.Sent, at.Refused+t.Refused, at.Delivered+t.Delivered
			known = known || t.carried() == lower
		}
	}
	if r.err == nil && lower == 0 {
		r.fail("no rate of %.4g packet/s or more was carried with a loss of at most %s, limit: %s; its output has the %d phases that were tried",
			1/(r.seconds("width")*r.seconds("phase")), percent(ratio), limit, len(phases))
	}
	r.require(known, "%g packet/s are in no phase at %g", lower, load)
	r.require(upper == 0 || upper > lower, "carried at %g packet/s and lost at %g", lower, upper)
	if r.err != nil {
		return Measured{}, r.err
	}
	offered := at.Sent + at.Refused
	values := []record.Value{
		{Name: "capacity", Unit: "packet/s", Value: lower},
		{Name: "goodput", Unit: "bit/s", Value: lower * size * 8},
		{Name: "loss", Unit: "1", Value: (offered - at.Delivered) / max(offered, 1)},
	}
	if upper > 0 {
		values = append(values, record.Value{Name: "capacity.upper", Unit: "packet/s", Value: upper})
	}
	if inverted > 0 {
		values = append(values, record.Value{Name: "capacity.inverted", Unit: "packet/s", Value: inverted})
	}
	m, err := r.measured("udp", values, "size", "limit", "sndbuf", "rcvbuf", "send", "batch", "recv", "dscp")
	if err == nil {
		m.Found["capacity"] = UDPCapacity{Loss: percent(ratio)}.Kind()
		m.Moved, m.Messages = delivered*size, delivered
	}
	return m, err
}
