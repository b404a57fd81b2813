package trial

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/header"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// sizes records what fits the path, also for a failed trial: packets that do not fit can be the reason.
func (s *Setup) sizes(r *record.Result) {
	record.PathMTU.Put(r.Observed, s.Plan.Path.MTU)
	if !s.Plan.Path.Found {
		record.PathOverhead.Put(r.Observed, s.Plan.Path.Overhead+s.Plan.Path.Tag)
	}
}

// path records the path's properties and the arithmetic ceiling of a link.
func (s *Setup) path(r *record.Result, m probe.Measured) {
	record.PathHosts.Put(r.Observed, s.Plan.Crossed(s.Client, s.Server))
	if d := s.Plan.Path.Datapath; d != "" {
		record.Datapath.Put(r.Observed, d)
	}
	if m.Protocol == "udp" {
		record.Datagram.Put(r.Observed, m.Datagram)
	}
	if s.LinkRate > 0 {
		record.Link.Put(r.Observed, s.LinkRate)
	}
	c, err := s.ceiling(m)
	if err != nil {
		r.Notes = append(r.Notes, record.NoteText.With(err))
	}
	if c > 0 {
		record.Ceiling.Put(r.Observed, math.Round(c))
	}
}

// ceiling returns the headers' limit for the probe's first value; 0 without one or for a non-rate.
func (s *Setup) ceiling(m probe.Measured) (float64, error) {
	h := header.Stack{Path: s.Plan.Path, Protocol: header.Protocol(m.Protocol), Datagram: m.Datagram, IPv6: s.Server.Addr.Is6()}
	switch {
	case s.LinkRate == 0 || m.Protocol == "icmp":
	case m.Values[0].Unit == "bit/s":
		return header.Ceiling(s.LinkRate, h)
	case m.Values[0].Unit == "packet/s":
		return header.PacketCeiling(s.LinkRate, h)
	}
	return 0, nil
}

// judge checks the values against the counters and the arithmetic.
func (s *Setup) judge(r *record.Result, m probe.Measured, x *execution) error {
	var errs []error
	if c, err := s.ceiling(m); err == nil && header.Impossible(m.Values[0].Value, c) {
		errs = append(errs, fmt.Errorf("%s is %.4g %s, more than the %.4g that the headers leave of the link",
			m.Values[0].Name, m.Values[0].Value, m.Values[0].Unit, c))
	}
	bytes, packets := delivered(r)
	if m.Outages != nil && m.Protocol == "tcp" {
		packets = 0 // messages that waited share segments
	}
	bytes, packets = max(bytes, m.Moved), max(packets, m.Messages)
	if m.Shared {
		packets = 0
	}
	arrived := bytes > 0 || m.Messages > 0 || m.Outages == nil || m.Outages.Answered > 0
	for _, e := range s.Plan.Expect {
		if s.Site.Nodes[e.In] == nil {
			continue // a target need not reach the machine of every pod
		}
		from, to := x.readings.First.Nodes[e.In], x.readings.Last.Nodes[e.In]
		switch {
		case e.MustCarry && e.Concerns(s.Client, s.Server):
			if devs := s.Event.Carriers(e.In, e.Dev); arrived && len(devs) > 0 {
				errs = append(errs, s.elsewhere(carried(e, devs, to.Sub(from), bytes, packets)))
			}
		case e.Below && e.Concerns(s.Client, s.Server):
			errs = append(errs, below(e, to.Sub(from), bytes, packets))
		case e.NoFragments && s.alone(e.In) && !s.fragments(m) && !s.loaded(): // a load's datagrams can be larger
			n, err := unfragmented(e, to.Sub(from))
			if err != nil && !s.Site.Private && !s.cut(n, bytes, packets) {
				r.Notes = append(r.Notes, record.NoteFragmentsFew.With(err))
				continue
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// stall is a silence, seconds, that no path explains: a processor was away, or TCP waited for its
// retransmission timer of at least 200 ms. The engine counts response times by the same bound.
const stall = 0.05

// stalled notes a stall's effect on the trial.
//
// Where fragments but no datagrams arrive, a lost fragment fails one attempt, after a timeout. Most attempts
// fail, and at once, only where the kernel lacks memory to begin another datagram (inet_frag_find,
// net/ipv4/inet_fragment.c).
func stalled(r *record.Result, m probe.Measured) []record.Note {
	silence, _ := r.Get(record.Silence)
	received, _ := r.Get(record.FragmentsReceived)
	failed, _ := r.Get(record.FragmentsFailed)
	switch {
	case m.Outages != nil: // whether anything arrived is what it measured
		return nil
	case m.Values[0].Value == 0 && failed.Value > received.Value/2:
		return []record.Note{record.NoteRefused.With()}
	case m.Values[0].Value == 0:
		return []record.Note{record.NoteSilent.With()}
	case silence.Value > stall+m.Pause:
		return []record.Note{record.NoteStalled.With()}
	}
	return nil
}

// squeezed notes datagrams that the server's socket dropped on a machine that grants it a smaller buffer than
// weir asks for. A lab has the settings of its machine, which doctor names.
func (s *Setup) squeezed(r *record.Result) []record.Note {
	dropped, _ := r.Get(record.LossSocket)
	got, ok := record.RcvBuf.Get(r.Observed)
	if s.Site.Private || dropped.Value == 0 || !ok || got >= 2*event.DefaultRcvBuf {
		return nil
	}
	return []record.Note{record.NoteSmallBuffer.With(unit.Percent(dropped.Value), got/2, event.DefaultRcvBuf, s.Server.Host)}
}

// delivered returns the minimum that the devices of the path must have moved.
func delivered(r *record.Result) (bytes, packets float64) {
	window, _ := r.Get(record.Window)
	throughput, _ := r.Get(record.Throughput)
	transactions, _ := r.Get(record.Transactions)
	return throughput.Value * window.Value / 8, math.Floor(transactions.Value * window.Value)
}

// rounding allows for tools that print a rate and a time with few digits, whose product is the
// count. Traffic on another path misses far more.
const rounding = 0.99

// carried checks that devs, of which e names the first, together moved what the probe received. Either direction counts, because
// the probe decides which one carries the bulk.
func carried(e plan.Expect, devs []string, d sample.Counters, bytes, packets float64) error {
	sum := func(counter string) (n float64) {
		for _, dev := range devs {
			n += d["dev."+dev+"."+counter]
		}
		return n
	}
	b, p := max(sum("rx_bytes"), sum("tx_bytes")), max(sum("rx_packets"), sum("tx_packets"))
	if e.Joined {
		packets = 0
	}
	if b < rounding*bytes || p < rounding*packets || p == 0 {
		return fmt.Errorf("%s of %s moved %.0f bytes in %.0f packets, but the probe received %.0f bytes and %.0f messages: the traffic took another path",
			strings.Join(devs, " and "), e.In, b, p, bytes, packets)
	}
	return nil
}

// elsewhere adds to an error of carried what to do if an event led the traffic over other devices on purpose.
func (s *Setup) elsewhere(err error) error {
	if err == nil || s.Event.Name == "" {
		return err
	}
	if s.Event.Traffic == plan.Moves {
		return fmt.Errorf("%w; the event %s names the devices that it may take (over): add the one that it took, or leave over out", err, s.Event.Name)
	}
	return fmt.Errorf("%w; if the event %s is meant to lead it there, say so in the study (traffic: %s)", err, s.Event.Name, plan.Moves)
}

// largestForwarded is the most bytes that the IP stack counts as one forwarded packet: segments of TCP, or datagrams,
// that travel together (GSO_LEGACY_MAX_SIZE, include/linux/netdevice.h).
const largestForwarded = 1 << 16

// resolving is how many packets a host's IP stack may forward in any case: those that resolve a next hop.
const resolving = 10

// below checks that the IP stack of a host did not forward what the probe received.
func below(e plan.Expect, d sample.Counters, bytes, packets float64) error {
	least := max(packets, bytes/largestForwarded) // what it would have forwarded
	if n := d["ip.ForwDatagrams"] + d["ip6.OutForwDatagrams"]; n > max(resolving, least/10) {
		return fmt.Errorf("the IP stack of %s forwarded %.0f packets, and the probe received %.0f bytes and %.0f messages: they did not pass below it, as the plan says",
			e.In, n, bytes, packets)
	}
	return nil
}

// unfragmented checks that nothing was fragmented when sent or reassembled when received. It returns
// the largest growth of a counter.
func unfragmented(e plan.Expect, d sample.Counters) (n float64, err error) {
	for _, name := range fragmentCounters {
		if d[name] > 0 && err == nil {
			err = fmt.Errorf("%s: %s grew by %.0f: packets were fragmented, although the probe's fit the path's MTU", e.In, name, d[name])
		}
		n = max(n, d[name])
	}
	return n, err
}

// cut reports whether n fragments on a machine that others use belong to the trial, which moved bytes in
// packets or more. A tunnel with the MTU of the path below it cuts every full packet in two; others have
// no reason to send half as many fragments.
func (s *Setup) cut(n, bytes, packets float64) bool {
	packets = max(packets, bytes/float64(s.Plan.Path.MTU))
	return packets > 0 && n >= packets/2
}

// If the probe sends more than the path's MTU, fragmented adds counts of fragments sent and
// received, and of failed reassemblies, at the sender's and the receiver's IP stack. They cover the
// client's run, warm-up included (ip_fragment, ip_defrag, net/ipv4; RFC 4293).
func (s *Setup) fragmented(r *record.Result, m probe.Measured, x *execution) {
	if !s.fragments(m) || s.loaded() { // a load's fragments cannot be separated
		return
	}
	proto, waiting := "ip.", "frag.memory"
	if s.Server.Addr.Is6() {
		proto, waiting = "ip6.", "frag6.memory"
	}
	grown := func(node, name string) float64 {
		return x.readings.Last.Nodes[node].Sub(x.readings.First.Nodes[node])[proto+name]
	}
	sender, receiver := s.ends(m)
	r.Values = append(r.Values,
		record.Value{Name: record.FragmentsSent, Unit: "1", Value: grown(sender.Node, "FragCreates")},
		record.Value{Name: record.FragmentsReceived, Unit: "1", Value: grown(receiver.Node, "ReasmReqds")},
		record.Value{Name: record.FragmentsFailed, Unit: "1", Value: grown(receiver.Node, "ReasmFails")},
		record.Value{Name: record.FragmentsWaiting, Unit: "byte", Value: x.readings.Last.Nodes[receiver.Node][waiting]})
}

// fragments reports whether the path must fragment the probe's packets.
func (s *Setup) fragments(m probe.Measured) bool {
	headers := 20 + 8 // IPv4; UDP or ICMP
	if s.Server.Addr.Is6() {
		headers = 40 + 8
	}
	return m.Datagram+headers > s.Plan.Path.MTU
}
