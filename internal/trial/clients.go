package trial

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/record"
)

// StartClients starts clients that do to server what the measured one does, by p, and
// returns when all are in steady state. Each has a server process of its own there,
// as the measured one has: that of UDP counts one run at a time, and so what each was
// delivered is known. When one does not start, none runs.
func StartClients(ctx context.Context, site *target.Site, clients []plan.End, server plan.End, p probe.Probe, warmup time.Duration) ([]*Companion, error) {
	started, errs := make([]*Companion, len(clients)), make([]error, len(clients))
	var wg sync.WaitGroup
	for i, client := range clients {
		c := &Companion{name: "client " + client.Node, client: true, values: func(from, to count) []record.Value {
			return []record.Value{to.delivered(from, "delivered", p)}
		}}
		started[i] = c
		wg.Go(func() {
			errs[i] = c.startTraffic(ctx, site, client, server, uint16(clientsPort+i), Load{Probe: p, Warmup: warmup})
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		for _, c := range started {
			_ = c.Stop() // what matters is why one did not start
		}
		return nil, err
	}
	return started, nil
}

// shares is what all clients were delivered in the window, and the least and the
// largest share of one of them. others is of those beside the measured client; the
// trial is invalid when one is missing.
func (s *Setup) shares(m probe.Measured, others []float64) []record.Value {
	if s.Clients != 1+len(others) {
		return nil
	}
	each := append(slices.Clone(others), probe.Delivered(s.Probe, m))
	total := 0.0
	for _, v := range each {
		total += v
	}
	vs := []record.Value{{Name: "clients.delivered", Unit: s.Probe.Info().DeliveryUnit, Value: total}}
	if total > 0 { // of nothing there are no shares
		vs = append(vs, record.Value{Name: "clients.least", Unit: "1", Value: slices.Min(each) / total},
			record.Value{Name: "clients.most", Unit: "1", Value: slices.Max(each) / total})
	}
	return vs
}
