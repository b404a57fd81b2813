package finding

import (
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
)

// Mean sizes of packets that devices can segment, bytes: above large a packet stands for many, below small for one or two.
const (
	large = 4500
	small = 3000
	// leastPassed is the fewest packets of a trial whose mean size says something.
	leastPassed = 20
)

// byProgram is the kind of a device whose features the program at its other end chooses, and nobody else
// (TUNSETOFFLOAD, drivers/net/tun.c).
const byProgram = "tun"

// A cutting is where a row's packets are cut on the path, in its last trial.
type cutting struct {
	before, after evidence.Hop
	joined        evidence.Hop // where they are joined again; zero if nowhere
	times         Number       // packets after ÷ before
}

// cutAt returns nil if the row's packets are not cut.
func cutAt(r *analysis.Row) *cutting {
	all, s, c := r.Evidence(), settings(r), cutting{}
	hop := frequent(all, func(o analysis.Observed) int { return cut(o.Evidence, s) })
	if _, most := analysis.Mostly(all, func(o analysis.Observed) bool { return hop >= 1 && cut(o.Evidence, s) == hop }); !most {
		return nil
	}
	times, ok := analysis.Exceeds(all, large/small, func(o analysis.Observed) (n, of float64) {
		path := o.Evidence.Path
		if hop >= len(path) {
			return 0, 0
		}
		c.before, c.after, c.joined = path[hop-1], path[hop], evidence.Hop{}
		if i := slices.IndexFunc(path[hop:], func(h evidence.Hop) bool { return h.Data.Size() > large }); i >= 0 {
			c.joined = path[hop+i]
		}
		return c.after.Data.Packets, c.before.Data.Packets
	})
	if q := c.after.Queue; !ok || q != nil && q.Kind == "tbf" && r.Wire.Link > 0 { // the study's own limit cuts them
		return nil
	}
	c.times = Number{lang.T("packets after ÷ before"), "1", times}
	return &c
}

// cut returns the hop before which a trial's packets were cut, -1 if there is none.
func cut(t *evidence.Trial, s *evidence.Settings) int {
	if t.Protocol != "tcp" && t.Protocol != "udp" {
		return -1
	}
	for i := 1; i < len(t.Path); i++ {
		before, h := t.Path[i-1], t.Path[i]
		// Cutting repeats the headers: a device with far more bytes carries other packets, too.
		if before.Data.Packets < leastPassed || before.Data.Size() <= large || h.Data.Packets == 0 || h.Data.Size() >= small || h.Data.Bytes > 1.3*before.Data.Bytes {
			continue
		}
		if t.Protocol == "udp" { // a datagram larger than the device's MTU is a GSO buffer; others can be large and cut into fragments
			if d, known := deviceOf(s, before.In, before.Dev); !known || before.Data.Size() <= float64(d.MTU+etherHeader) {
				continue
			}
		}
		d, known := deviceOf(s, h.In, h.Dev)
		if !known || d.Kind == "" && len(segmenting(s, t, h)) == 0 { // what is on the wire
			return -1
		}
		if before.In != h.In && (d.Kind != "veth" || t.Sender.Host != t.Receiver.Host) { // devices that the path does not name are between
			return -1
		}
		return i
	}
	return -1
}

// segmenting returns the names of the features that would let a device take a trial's large packets and are off,
// those for tunnels first if packets get there through one; none for a device by which packets come in: its features are about what it
// sends.
func segmenting(s *evidence.Settings, t *evidence.Trial, h evidence.Hop) (off []string) {
	names := []string{"tx-generic-segmentation", "tx-tcp-segmentation", "tx-scatter-gather"}
	switch {
	case t.Protocol == "udp":
		names[1] = "tx-udp-segmentation"
	case overIPv6(t):
		names[1] = "tx-tcp6-segmentation"
	}
	if h.By == "vxlan" || h.By == "geneve" {
		names = append([]string{"tx-udp_tnl-segmentation", "tx-udp_tnl-csum-segmentation"}, names...)
	}
	d, _ := deviceOf(s, h.In, h.Dev)
	if d.Kind == byProgram || !h.Out {
		return nil
	}
	for _, name := range names {
		if state, known := d.Features[name]; known && !state {
			off = append(off, name)
		}
	}
	if segments := names[len(names)-2]; d.Features[segments] && slices.Equal(off, []string{"tx-generic-segmentation"}) {
		return nil // the device needs no help of the kernel
	}
	return off
}

// byPlan reports whether the plan of the network itself switches a feature off at a hop: then that is its design, and
// switching it on can break the path.
func byPlan(s *evidence.Settings, h evidence.Hop, off []string) bool {
	d, _ := deviceOf(s, h.In, h.Dev)
	return slices.ContainsFunc(off, func(name string) bool {
		on, stated := d.Planned[name]
		return stated && !on
	})
}

// checksums returns the names of a device's features that compute checksums of TCP and UDP, if all are off. A
// device has the first one or the other two (netdev_fix_features, net/core/dev.c), so the first one is switched.
func checksums(s *evidence.Settings, h evidence.Hop) (off []string) {
	d, _ := deviceOf(s, h.In, h.Dev)
	if d.Kind == byProgram || !h.Out {
		return nil
	}
	for _, name := range []string{"tx-checksum-ip-generic", "tx-checksum-ipv4", "tx-checksum-ipv6"} {
		state, known := d.Features[name]
		if state {
			return nil
		}
		if known {
			off = append(off, name)
		}
	}
	return off[:min(1, len(off))]
}

// switchOn completes a finding about features that are off at a hop.
func (f *Finding) switchOn(r *analysis.Row, h evidence.Hop, off []string) {
	if len(off) == 0 {
		return
	}
	features := map[string]bool{}
	for _, name := range off {
		features[name] = true
	}
	if len(off) > 1 {
		f.Text += lang.T("; %s are off there", strings.Join(off, ", "))
	} else {
		f.Text += lang.T("; %s is off there", off[0])
	}
	f.Remedy = lang.T("switch on the offloads that the device has: ethtool -K %s %s on", h.Dev, strings.Join(off, " on "))
	// Cutting costs far more: every packet behind passes the rest of the path by itself.
	f.Test = lessCPU(r, 0.9, plan.Step{In: h.In, Offload: &plan.Offload{Dev: h.Dev, Features: features}})
}
