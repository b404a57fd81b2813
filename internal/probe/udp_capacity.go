package probe

import (
	"fmt"
	"strconv"
	"time"

	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// UDPCapacity measures how many datagrams per second a path carries while it loses
// no more than a bound: the throughput of RFC 2544, section 26.1, when the bound is
// 0, and otherwise a partial drop rate. A stream that is sent as fast as possible
// (UDPRate) can deliver more, or less where the path collapses.
type UDPCapacity struct {
	Size  int    `yaml:"size"`  // bytes of payload per datagram; default 18
	Loss  string `yaml:"loss"`  // largest loss to tolerate, as a share of what is offered; 0 is the no-drop rate; default 0.5%
	Send  string `yaml:"send"`  // single (one sendto per datagram, the default), mmsg (sendmmsg) or gso (UDP_SEGMENT: one buffer for many, cut as late as possible)
	Batch int    `yaml:"batch"` // datagrams per call; default 1 for single, 32 for mmsg, and for gso as many as a buffer of 65507 bytes holds, 64 at most
	Recv  string `yaml:"recv"`  // single (recvmsg), mmsg (recvmmsg) or gro (UDP_GRO: what arrives in one buffer stays in it); default gro for gso, else mmsg
}

const (
	// defaultLossRatio is the bound of the partial drop rate that FD.io CSIT publishes.
	defaultLossRatio = 0.005
	// searchWidth is how close the two bounds of a capacity must be, and searchPhase
	// how long the search offers one rate.
	searchWidth = "2%"
	searchPhase = 100 * time.Millisecond
	// searchTime is what a search gets at least, as a study's windows are shorter than
	// some twenty phases; most end after searchTakes.
	searchTime  = 5 * time.Second
	searchTakes = 3 * time.Second
)

func (p UDPCapacity) Info() Info {
	return Info{
		Title: "UDP capacity", Short: "UDP capacity", Unit: "packet/s", Takes: searchTakes, AtMost: searchTime,
		About:  "highest UDP packet rate with no more than a bounded loss, PDR or NDR, by search (native)",
		Method: "The highest rate of datagrams at which no more than a bounded share is lost, by search. weir counts what arrived at that rate.",
	}
}

func (p UDPCapacity) path() udpPath {
	return udpPath{or(p.Size, smallDatagram), p.Send, p.Batch, p.Recv}.filled()
}

// ratio is the tolerated loss.
func (p UDPCapacity) ratio() (float64, error) {
	if p.Loss == "" {
		return defaultLossRatio, nil
	}
	return unit.ParsePercent(p.Loss)
}

// Kind names such a capacity: "NDR", or "PDR 0.5%".
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

func (p UDPCapacity) Commands(w Window) (server, client []string) {
	ratio, _ := p.ratio() // Check has reported an error
	w.Duration = max(w.Duration, searchTime)
	path := p.path()
	return engineRun(w, "udp-search", path.size, append([]string{"--loss", percent(ratio), "--width", searchWidth,
		"--phase", searchPhase.String()}, path.flags(lookEvery)...)...)
}

// A tried is a rate that a search offered for a while, and the outcome: packet/s (0 is
// flat out), seconds, and datagrams.
type tried struct {
	Asked, Window, Queue                       float64
	Offered, Refused, Sent, Delivered, Dropped float64
}

// carried is the rate at which datagrams arrived, as the engine computes it.
func (t tried) carried() float64 { return min(t.Delivered/(t.Window+t.Queue), t.Asked) }

// Parse reads capacity (packet/s, the highest rate that the path carried, as measured
// at arrival), goodput (bit/s of payload at that rate), loss (of what was offered at
// it, in all phases), capacity.upper (packet/s, the lowest rate that lost more, if
// there is one), and capacity.inverted (packet/s, a higher rate that lost less, if
// there is one). Found says which capacity it is, and what limited it: the path, the
// sender, or the time of the search.
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
	known := false // one of them is lower
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
		r.fail("the path carried no rate of %.4g packet/s or more with a loss of at most %s, limit: %s; the raw output has all %d phases",
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
