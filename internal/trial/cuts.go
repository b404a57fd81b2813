package trial

import (
	"context"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
)

// fragmentCounters grow where packets are cut or reassembled (RFC 4293).
var fragmentCounters = []string{"ip.FragCreates", "ip.ReasmReqds", "ip6.FragCreates", "ip6.ReasmReqds"}

// cutProofs is how many full-size packets in a row must come with fragments. Others on the machines can cut
// packets at the same moment, but not every time.
const cutProofs = 3

// Cuts reports whether packets of size bytes are cut into fragments on their way by what carries them, such as a tunnel
// whose MTU ignores its own headers: the packets' own headers forbid fragmentation. Only fragments on the machines of
// the ends can be seen.
func (e *Engines) Cuts(ctx context.Context, site *target.Site, size int, timeout time.Duration) (bool, error) {
	var nodes []target.Node
	for _, name := range []string{e.from.Node, e.from.Host, e.to.Node, e.to.Host} {
		if n := site.Nodes[name]; n != nil && !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	count := func() (sum float64) {
		p, taken := poll{site: site}, []*target.Reading{}
		for _, n := range nodes {
			taken = append(taken, p.add(n.Sample, sample.OfSNMP))
		}
		p.run(ctx)
		for _, r := range taken {
			for _, name := range fragmentCounters {
				sum += r.Counters[name]
			}
		}
		return sum
	}
	for range cutProofs {
		from := count()
		if _, err := e.Reach(ctx, size, timeout); err != nil {
			return false, err
		}
		if count() <= from {
			return false, nil
		}
	}
	return true, nil
}
