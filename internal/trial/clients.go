package trial

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/record"
)

// StartClients starts clients that run p against server like the measured one, and returns when all
// are in steady state. Each has its own server process there: a UDP server counts one run at a
// time, so deliveries are known per client. If one fails to start, none runs.
func StartClients(ctx context.Context, site *target.Site, clients []plan.End, server plan.End, p probe.Probe, warmup time.Duration) ([]*Background, error) {
	started, errs := make([]*Background, len(clients)), make([]error, len(clients))
	atOnce(len(clients), func(i int) {
		c := &Background{name: "client " + clients[i].Node, client: true, values: func(from, to count) []record.Value {
			return []record.Value{to.delivered(from, record.Delivered, p)}
		}}
		started[i] = c
		errs[i] = c.startTraffic(ctx, site, clients[i], server, clientsPort+i, Load{Probe: p, Warmup: warmup})
	})
	if err := errors.Join(errs...); err != nil {
		for _, c := range started {
			_ = c.Stop() // the failed start matters more
		}
		return nil, err
	}
	return started, nil
}

// shares returns the total delivery of all clients and the smallest and largest share of it. others
// holds the deliveries of all but the measured client; the trial is invalid when one is missing.
func (s *Setup) shares(m probe.Measured, others []float64) []record.Value {
	if s.Clients != 1+len(others) {
		return nil
	}
	each := append(slices.Clone(others), probe.Delivered(s.Probe, m))
	total := 0.0
	for _, v := range each {
		total += v
	}
	vs := []record.Value{{Name: record.ClientsDelivered, Unit: s.Probe.Info().DeliveryUnit, Value: total}}
	if total > 0 {
		vs = append(vs, record.Value{Name: record.ClientsLeast, Unit: "1", Value: slices.Min(each) / total},
			record.Value{Name: record.ClientsMost, Unit: "1", Value: slices.Max(each) / total})
	}
	return vs
}
