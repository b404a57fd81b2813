package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

const (
	// fragmentRoom is the memory that a network namespace begins with for datagrams
	// that lack a fragment, of IPv4 and of IPv6 each. (ipv4_frags_init_net,
	// net/ipv4/ip_fragment.c; ipv6_frags_init_net, net/ipv6/reassembly.c)
	fragmentRoom = 4 << 20
	// maxFragmentRoom is the most that a namespace is given with what is left of
	// earlier trials. A trial has left up to 1 MB.
	maxFragmentRoom = 64 << 20
)

// makeRoom gives all places as much room for datagrams that lack a fragment as a new
// network has: what trials before have left, which the kernel keeps for 30 s, is put
// on top of it. Else a trial would measure which ones came before it, down to nothing
// when they have left no room. A trial that fills its room itself still shows it. It
// has a little more than a new network's, as far as rests grow too old meanwhile.
//
// The function that is returned puts the bound back.
func makeRoom(ctx context.Context, ss []Setup, rs []record.Result) (restore func()) {
	var steps, back []plan.Step
	for i := range ss {
		for _, name := range ss[i].observed() {
			if slices.ContainsFunc(steps, func(s plan.Step) bool { return s.In == name }) {
				continue
			}
			c, _ := sample.Read(ss[i].Site.Nodes[name].FS(), []sample.Sampler{sample.Reassembly{}}) // the first reading tells of errors
			for _, v := range []struct{ held, key string }{
				{"frag.memory", "net.ipv4.ipfrag_high_thresh"}, {"frag6.memory", "net.ipv6.ip6frag_high_thresh"},
			} {
				if c[v.held] == 0 {
					continue
				}
				set := func(bytes int) plan.Step {
					return plan.Step{In: name, Sysctl: &plan.Sysctl{Key: v.key, Value: strconv.Itoa(bytes)}}
				}
				steps = append(steps, set(min(int(c[v.held])+fragmentRoom, maxFragmentRoom)))
				back = append(back, set(fragmentRoom))
			}
		}
	}
	if len(steps) == 0 {
		return func() {}
	}
	site := ss[0].Site
	warn := func(err error) {
		for i := range rs {
			if err != nil && !errors.Is(err, context.Canceled) {
				rs[i].Warnings = append(rs[i].Warnings, fmt.Sprintf("fragments that trials before have left take memory from this one: %v", err))
			}
		}
	}
	warn(site.Apply(ctx, steps))
	return func() { warn(site.Apply(context.WithoutCancel(ctx), back)) }
}
