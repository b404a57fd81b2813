package trial

import (
	"context"
	"fmt"

	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// watchDelays returns a function that reads what the delay program has counted since; it returns no
// counters where no such program runs.
func watchDelays(ctx context.Context, site *target.Site) func() (sample.Counters, error) {
	if site.Delays == nil {
		return func() (sample.Counters, error) { return nil, nil }
	}
	_, err := site.Delays(ctx) // forgets earlier trials
	return func() (sample.Counters, error) {
		if err != nil {
			return nil, err
		}
		return site.Delays(ctx)
	}
}

// fullyBusy is the share of a CPU above which the program that delays packets is a limit.
const fullyBusy = 0.9

// distance adds the distance that was set, the proof that packets met it, and how exact it was. A
// packet that was faster than the delay allows makes the trial invalid.
func (s *Setup) distance(r *record.Result, delays sample.Counters, err error) {
	if s.Distance == (topo.Distance{}) && delays == nil && err == nil || len(r.Values) == 0 {
		return
	}
	d := s.Distance
	if d != (topo.Distance{}) {
		r.Observed.Observe(record.PathDelay.Is(d.Delay), record.PathJitter.Is(d.Jitter), record.PathLoss.Is(d.Loss))
	}
	if s.RTT > 0 {
		r.Values = append(r.Values, record.Value{Name: record.DelayRTT, Unit: "s", Value: s.RTT.Seconds()})
	}
	if least := d.LeastRTT(); r.Status == record.OK && s.RTT < least {
		r.Status, r.Reason = record.Invalid, fmt.Sprintf("a packet and its answer took %v, less than the %v that a delay of %v (jitter %v) allows", s.RTT, least, d.Delay, d.Jitter)
	}
	if err != nil {
		r.Notes = append(r.Notes, record.NoteDelayUncounted.With(err))
	}
	if delays == nil {
		return
	}
	r.Values = append(r.Values,
		record.Value{Name: record.DelayPackets, Unit: "1", Value: delays["packets"]},
		record.Value{Name: record.DelayLost, Unit: "1", Value: delays["lost"]},
		record.Value{Name: record.DelayDropped, Unit: "1", Value: delays["dropped"]},
		record.Value{Name: record.DelayLate, Unit: "s", Value: delays["late99"]},
		record.Value{Name: record.DelayLateMax, Unit: "s", Value: delays["late.max"]},
		record.Value{Name: record.DelayBusy, Unit: "1", Value: delays["busy"]})
	// What limits the tool must not be read as a limit of the network.
	switch {
	case delays["dropped"] > 0:
		r.Notes = append(r.Notes, record.NoteDelayDropped.With())
	case delays["busy"] > fullyBusy:
		r.Notes = append(r.Notes, record.NoteDelayBusy.With())
	}
	tolerable := d.Delay.Seconds() / 4
	if d.Delay == 0 {
		tolerable = 1e-3
	}
	if delays["late99"] > tolerable {
		r.Notes = append(r.Notes, record.NoteDelayInexact.With())
	}
}
