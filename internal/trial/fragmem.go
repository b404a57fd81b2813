package trial

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

const (
	// fragmentMemory is a new network namespace's memory for incomplete datagrams, bytes, of IPv4
	// and of IPv6 each (ipv4_frags_init_net, net/ipv4/ip_fragment.c; ipv6_frags_init_net,
	// net/ipv6/reassembly.c).
	fragmentMemory = 4 << 20
	// maxFragmentMemory bounds a namespace's memory beyond leftovers. A trial has left up to 1 MB.
	maxFragmentMemory = 64 << 20
)

// keepFragmentMemory gives every place a new network's memory for incomplete datagrams, beyond what
// earlier trials still occupy: the kernel keeps incomplete datagrams for 30 s. Otherwise the result
// would depend on earlier trials, down to nothing when they have left no memory. A trial that fills
// the memory itself still shows it. As leftovers expire, a trial has slightly more memory than in a
// new network.
//
// On a site that is not private it changes nothing. The returned function restores the bounds.
func keepFragmentMemory(ctx context.Context, ss []Setup, rs []record.Result) (restore func()) {
	site := ss[0].Site
	if !site.Private {
		return func() {}
	}
	var steps, back []plan.Step
	for i := range ss {
		for _, name := range ss[i].observed() {
			if slices.ContainsFunc(steps, func(s plan.Step) bool { return s.In == name }) {
				continue
			}
			held, _ := site.Nodes[name].Sample(ctx, sample.OfReassembly) // the first reading reports errors
			for _, v := range []struct{ held, key string }{
				{"frag.memory", "net.ipv4.ipfrag_high_thresh"}, {"frag6.memory", "net.ipv6.ip6frag_high_thresh"},
			} {
				left := held.Counters[v.held]
				if left == 0 {
					continue
				}
				set := func(bytes int) plan.Step {
					return plan.Step{In: name, Sysctl: &plan.Sysctl{Key: v.key, Value: strconv.Itoa(bytes)}}
				}
				steps = append(steps, set(min(int(left)+fragmentMemory, maxFragmentMemory)))
				back = append(back, set(fragmentMemory))
			}
		}
	}
	if len(steps) == 0 {
		return func() {}
	}
	warn := func(err error) {
		for i := range rs {
			if err != nil && !errors.Is(err, context.Canceled) {
				rs[i].Notes = append(rs[i].Notes, record.NoteFragmentsLeft.With(err))
			}
		}
	}
	warn(site.Apply(ctx, steps))
	return func() { warn(site.Apply(context.WithoutCancel(ctx), back)) }
}
