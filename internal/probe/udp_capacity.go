package probe

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// UDPCapacity measures the highest datagram rate that a path carries within a loss bound: the
// throughput of RFC 2544, section 26.1, if the bound is 0, else a partial drop rate. Sending as
// fast as possible (UDPRate) can deliver more, or less where the path collapses.
type UDPCapacity struct {
	Size int `yaml:"size"` // bytes of payload per datagram; default 18
	// MaxLoss is not called loss, which is the condition of a path.
	MaxLoss string `yaml:"max-loss"` // largest tolerated loss, as a share of offered; 0 is the no-drop rate; default 0.5%
	// Instead of max-loss: such losses, all searched for at once as MLRsearch does; the capacity is that of the first.
	Goals []string `yaml:"goals"`
	Send  string   `yaml:"send"`  // single (one sendto per datagram, the default), mmsg (sendmmsg), gso (UDP_SEGMENT: one buffer for many datagrams, split as late as possible) or xdp (AF_XDP: frames for the device, past the sender's IP stack)
	Batch int      `yaml:"batch"` // datagrams per call; default 1 for single, 32 for mmsg and xdp, for gso as many as fit into 65507 bytes, at most 64
	Recv  string   `yaml:"recv"`  // single (recvmsg), mmsg (recvmmsg) or gro (UDP_GRO: keeps coalesced datagrams in one buffer); default gro for gso, else mmsg
}

const (
	// defaultLossRatio is the bound of FD.io CSIT's partial drop rate.
	defaultLossRatio = 0.005
	// searchWidth is the final distance of the search's two bounds, and searchPhase the duration of
	// each rate.
	searchWidth = "2%"
	searchPhase = 100 * time.Millisecond
	// searchTime is a search's minimum budget, because a study's window is too short for its
	// roughly twenty phases; most searches end after searchTakes. Each other goal adds goalTime and goalTakes.
	searchTime  = 5 * time.Second
	searchTakes = 3 * time.Second
	goalTime    = 3 * time.Second
	goalTakes   = time.Second
)

func (p UDPCapacity) Info() Info {
	return Info{
		Title: "UDP capacity", Short: "UDP capacity", Unit: "packet/s", Datagrams: true,
		Takes: searchTakes + goalTakes*p.others(), AtMost: p.budget(),
		About:  "highest UDP packet rate with no more than a bounded loss, PDR or NDR, by search (native)",
		Method: "The highest rate of datagrams at which no more than a bounded share is lost, by search. weir counts what arrived at that rate.",
	}
}

func (p UDPCapacity) mode() event.Mode {
	return event.Mode{Size: or(p.Size, smallDatagram), Send: p.Send, Batch: p.Batch, Recv: p.Recv}.Filled()
}

// others is how many goals there are besides the first.
func (p UDPCapacity) others() time.Duration { return time.Duration(max(len(p.Goals)-1, 0)) }

func (p UDPCapacity) budget() time.Duration { return searchTime + goalTime*p.others() }

// ratios returns the losses to search for, at least one.
func (p UDPCapacity) ratios() (all []float64, err error) {
	option, goals := "goals", p.Goals
	switch {
	case len(goals) > 0 && p.MaxLoss != "":
		return nil, fmt.Errorf("max-loss: %s beside goals: make it the first of them", p.MaxLoss)
	case p.MaxLoss != "":
		option, goals = "max-loss", []string{p.MaxLoss}
	case len(goals) == 0:
		return []float64{defaultLossRatio}, nil
	}
	for _, g := range goals {
		ratio, err := unit.ParsePercent(g)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", option, err)
		case ratio >= 1:
			return nil, fmt.Errorf("%s: %s is not below 100%%", option, g)
		}
		all = append(all, ratio)
	}
	return all, event.CheckGoals(all)
}

// Kind names the capacity: "NDR", or "PDR 0.5%".
func (p UDPCapacity) Kind() string {
	if all, err := p.ratios(); err == nil && all[0] > 0 {
		return "PDR " + unit.Percent(all[0])
	}
	return "NDR"
}

func (p UDPCapacity) Check() error {
	_, err := p.ratios()
	return cmp.Or(err, p.mode().Check())
}

func (p UDPCapacity) Commands(w Window) (server, client []string) {
	ratios, _ := p.ratios() // Check has reported an error
	var losses []string
	for _, r := range ratios {
		losses = append(losses, unit.Percent(r))
	}
	w.Duration = max(w.Duration, p.budget())
	m := p.mode()
	return engineRun(w, "udp-search", m.Size, append([]string{"--loss", strings.Join(losses, ","), "--width", searchWidth,
		"--phase", searchPhase.String()}, modeFlags(m, m.DefaultNap())...)...)
}

// Parse reads capacity (packet/s, the highest carried rate, measured at arrival), goodput (bit/s of
// payload at that rate), loss (at that rate, over all its phases), capacity.upper (packet/s, the
// lowest rate that lost more, if any), capacity.inverted (packet/s, a higher rate that lost less, if
// any), with goals what each found (conditional throughput and its bounds, packet/s), and those of waits, of the whole
// search. Observed names the kind of capacity and its limit: the
// path, the sender or the search time.
func (p UDPCapacity) Parse(out Output) (Measured, error) {
	var r event.UDPSearch
	n := parseNative(out, "udp-search", &r)
	var at event.Phase // all phases of the load together
	var delivered float64
	known := false // a phase carried Lower
	for i, t := range r.Phases {
		n.require(t.Window > 0 && t.Queue >= 0 && t.Asked >= 0, "phase %d: %+v", i+1, t)
		n.require(t.Refused >= 0 && t.Dropped >= 0 && t.Delivered >= 0 && t.Offered >= t.Tried() && t.Sent >= t.Delivered+t.Dropped,
			"phase %d: the ladder offered %d, refused %d, sent %d, delivered %d, dropped %d goes up", i+1, t.Offered, t.Refused, t.Sent, t.Delivered, t.Dropped)
		delivered += float64(t.Delivered)
		if t.Asked == r.Load {
			at.Sent, at.Refused, at.Delivered = at.Sent+t.Sent, at.Refused+t.Refused, at.Delivered+t.Delivered
			known = known || t.Carried() == r.Lower
		}
	}
	if r.Lower == 0 {
		n.fail("the path carried no rate of %.4g packet/s or more with a loss of at most %s, limit: %s; the raw output has all %d phases",
			1/(r.Width*r.Length), unit.Percent(r.Loss), r.Limit, len(r.Phases))
	}
	n.require(known, "%g packet/s are in no phase at %g", r.Lower, r.Load)
	n.require(r.Upper == 0 || r.Upper > r.Lower, "carried at %g packet/s and lost at %g", r.Lower, r.Upper)
	values := []record.Value{
		{Name: record.Capacity, Unit: "packet/s", Value: r.Lower},
		{Name: record.Goodput, Unit: "bit/s", Value: r.Lower * float64(r.Size) * 8},
		{Name: record.Loss, Unit: "1", Value: at.Lost()},
	}
	if r.Upper > 0 {
		values = append(values, record.Value{Name: record.CapacityOver, Unit: "packet/s", Value: r.Upper})
	}
	if r.Inverted > 0 {
		values = append(values, record.Value{Name: record.CapacityBack, Unit: "packet/s", Value: r.Inverted})
	}
	if len(p.Goals) > 0 || len(r.Goals) > 1 {
		values = append(values, n.goals(r)...)
	}
	values = append(values, n.waits(r.Window, r.Own)...)
	m, err := n.measured("udp", r.Head, values, record.CapacityKind.Is(UDPCapacity{MaxLoss: unit.Percent(r.Loss)}.Kind()), record.Limit.Is(r.Limit),
		record.SndBuf.Is(r.SndBuf), record.RcvBuf.Is(r.RcvBuf), record.Send.Is(r.Send), record.Batch.Is(r.Batch), record.Recv.Is(r.Recv), record.DSCP.Is(r.DSCP))
	if err == nil {
		m.Moved, m.Messages = delivered*float64(r.Size), delivered
	}
	return m, err
}

// goals returns what a search found for each goal; nothing for one that ran out of time, and no upper bound where the
// sender was the limit.
func (n *native) goals(r event.UDPSearch) (values []record.Value) {
	n.require(len(r.Goals) > 0 && r.Goals[0].Loss == r.Loss, "goals %+v, the first for a loss of %g", r.Goals, r.Loss)
	for _, g := range r.Goals {
		n.require(g.Throughput <= g.Lower && (g.Upper == 0 || g.Upper > g.Lower), "bounds and throughput of %+v", g)
		for _, v := range []struct {
			q    record.Quantity
			rate float64
		}{{record.ThroughputAt, g.Throughput}, {record.BoundLower, g.Lower}, {record.BoundUpper, g.Upper}} {
			if v.rate != 0 {
				values = append(values, v.q.Goal(unit.Percent(g.Loss)).Value("packet/s", v.rate))
			}
		}
	}
	return values
}
