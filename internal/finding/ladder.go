package finding

import (
	"cmp"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A gap is packets that one trial lost at one step of its path: sender → every device → IP → socket → program.
type gap struct {
	rule  string // ID of the rule that reports it
	place string // NODE, or NODE DEVICE
	// at orders gaps along the path: 2·i is the hop i itself, 2·i-1 lies before it.
	at       int
	lost, of float64      // packets
	verb     lang.Text    // of drop-on-path: what the packets did
	why      lang.Text    // evidence besides the counts
	hop      evidence.Hop // zero at the receiver
	need     float64      // MTU that the plan needs there
	missing  bool         // the loss is a difference of two counts, or a count, that also hold packets of others
	back     bool         // on the way of the replies
}

// A loss is a gap over the blocks of a row.
type loss struct {
	gap
	Share stat.Interval // lost ÷ of
}

// The steps of a path: IDs of the rules that report a loss there.
const (
	atQueue    = "queue-drop"
	atBacklog  = "backlog-drop"
	atDevice   = "drop-on-path"
	atMTU      = "small-mtu-drop"
	atInput    = "filtered-at-input"
	atChecksum = "checksum-errors"
	atSocket   = "socket-buffer"
)

// Least shares of packets that count as a loss. Counters of queues and sockets count only losses, so they get
// the smaller one; differences of counts include packets of other protocols, such as ARP.
const (
	countedLoss = 0.001
	missingLoss = 0.002
	// fewBytes is the share of a device's bytes below which those of the next one are what others sent: packets that are
	// cut or joined keep their bytes.
	fewBytes = 0.1
	// leastLost is the fewest packets, over all blocks, on which a finding rests.
	leastLost = 10
)

// The losses of a row: the steps of its path on which packets are reliably lost, from the sender to the receiver and
// then those of the replies, and the gaps of every trial that has any.
type losses struct {
	steps []*loss
	gaps  map[string][]gap
	loose map[string]float64 // packets of every trial that are missing between devices, and do not balance with what the ends lost
}

func lossesOf(r *analysis.Row) losses {
	observed := r.Evidence()
	all, sizes := losses{gaps: map[string][]gap{}, loose: map[string]float64{}}, meanSizes(observed)
	var steps []gap // sums over trials
	for _, o := range observed {
		found, loose := gaps(o, sizes)
		if loose > 0 {
			all.loose[o.Trial] = loose
		}
		if len(found) > 0 {
			all.gaps[o.Trial] = found
		}
		for _, g := range found {
			i := slices.IndexFunc(steps, g.same)
			if i < 0 {
				steps = append(steps, g)
				continue
			}
			steps[i].lost, steps[i].of, steps[i].at = steps[i].lost+g.lost, steps[i].of+g.of, min(steps[i].at, g.at)
		}
	}
	slices.SortStableFunc(steps, func(a, b gap) int { return cmp.Compare(a.order(), b.order()) })
	for _, step := range steps {
		least := countedLoss
		if step.rule == atDevice || step.rule == atMTU || step.rule == atInput {
			least = missingLoss
		}
		share, ok := analysis.ShareExceeds(observed, least, func(o analysis.Observed) (lost, of float64) {
			if i := slices.IndexFunc(all.gaps[o.Trial], step.same); i >= 0 {
				return all.gaps[o.Trial][i].lost, all.gaps[o.Trial][i].of
			}
			return 0, entered(o.Evidence)
		})
		// A difference of counts is noisy: its whole interval must be a loss.
		if ok && step.lost >= leastLost && (!step.missing || !share.Bounded() || share.Lo > least) {
			all.steps = append(all.steps, &loss{step, share})
		}
	}
	return all
}

// order sorts gaps along the way of the requests and back.
func (g gap) order() int {
	if g.back {
		return g.at + 1<<16
	}
	return g.at
}

// same reports whether two gaps are one step of a path: between the same devices, in the same direction.
func (g gap) same(other gap) bool {
	return g.rule == other.rule && g.place == other.place && g.verb == other.verb && g.back == other.back
}

// entered returns how many packets entered the path.
func entered(t *evidence.Trial) float64 {
	if len(t.Path) == 0 {
		return 0
	}
	return t.Path[0].Data.Packets + t.Path[0].Data.Drops
}

// device names a device of a path.
type device struct{ in, name string }

// foreignSize is how many times as large as in the middle trial packets are in a trial whose devices carried others' packets too,
// such as what a connection of the trial before still sent.
const foreignSize = 10

// meanSizes returns the mean packet size of each device over trials: in one short trial, the loss of a few large
// packets changes it.
func meanSizes(all []analysis.Observed) map[device]float64 {
	flows, sizes := map[device][]evidence.Flow{}, map[device]float64{}
	for _, o := range all {
		for _, h := range o.Evidence.Path {
			if at := (device{h.In, h.Dev}); h.Data.Packets > 0 {
				flows[at] = append(flows[at], h.Data)
			}
		}
	}
	for at, of := range flows {
		each := make([]float64, len(of))
		for i, f := range of {
			each[i] = f.Size()
		}
		var sum evidence.Flow
		most := foreignSize * stat.Middle(each)
		for i, f := range of {
			if each[i] <= most {
				sum.Packets, sum.Bytes = sum.Packets+f.Packets, sum.Bytes+f.Bytes
			}
		}
		sizes[at] = sum.Size()
	}
	return sizes
}

// A ladder collects the gaps of a trial. Each step subtracts what an earlier one explains.
type ladder struct {
	o       analysis.Observed
	path    []evidence.Hop
	sizes   map[device]float64 // mean size of packets by device
	backlog float64            // packets that found the queue of their CPU full, on all hosts
	gaps    []gap
}

func (l *ladder) add(rule string, at int, lost, of float64, verb, why lang.Text) {
	i := min((at+1)/2, len(l.path)-1)
	hop := l.path[i]
	need, _ := planned(l.o, i)
	l.gaps = append(l.gaps, gap{rule, hop.In + " " + hop.Dev, at, lost, of, verb, why, hop, need, false, false})
}

func (l *ladder) last() *gap { return &l.gaps[len(l.gaps)-1] }

// queues adds what queueing disciplines dropped, except by the study's own loss between hosts.
func (l *ladder) queues() {
	for i, h := range l.path {
		if q := h.Queue; h.Out && q != nil && q.Drops > 0 && !(q.Kind == "netem" && record.PathLoss.In(l.o.Observed)) {
			l.add(atQueue, 2*i, q.Drops, h.Data.Packets+q.Drops, "", lang.T("its queueing discipline is %s", q.Kind))
		}
	}
}

// devices adds what devices dropped. A drop in the call of a sender shows again at the devices that called:
// veth_xmit (drivers/net/veth.c) returns the receiver's error, and a tunnel counts what the device below
// refuses (iptunnel_xmit_stats, include/net/ip_tunnels.h). So of devices in a row with the same drops, the last
// one has the cause, and the drops of a queue are not those of the devices before it.
func (l *ladder) devices() {
	for i := 0; i < len(l.path); i++ {
		drops := l.path[i].Data.Drops
		for i+1 < len(l.path) && drops > 0 && l.path[i+1].Data.Drops >= 0.9*drops {
			i++
			drops = l.path[i].Data.Drops
		}
		for j := i; j < len(l.path) && l.path[j].In == l.path[i].In; j++ {
			if q := l.path[j].Queue; l.path[j].Out && q != nil {
				drops -= q.Drops
			}
		}
		of := l.path[i].Data.Packets + drops
		switch queued := min(l.backlog, drops); {
		case drops <= 0:
		case queued >= 0.9*drops:
			l.backlog -= queued
			l.add(atBacklog, 2*i, drops, of, "", lang.T("softnet_stat counts them as dropped: the queue of a CPU (net.core.netdev_max_backlog) was full"))
		case l.narrow(i):
			l.add(atMTU, 2*i, drops, of, "", lang.T("the device counts them as dropped"))
		default:
			l.add(atDevice, 2*i, drops, of, lang.T("were lost at %s %s", l.path[i].In, l.path[i].Dev), lang.T("the device counts them as dropped"))
		}
	}
}

// counts adds packets that are missing between devices without a drop counter that shows them. Only counts of
// packets of about one size can be compared: elsewhere they were cut, joined or belong to others.
func (l *ladder) counts() {
	if record.PathLoss.In(l.o.Observed) {
		return // by the study, perhaps in a program that no counter shows
	}
	ref, last := -1, lastCounting(l.path)
	for i, h := range l.path {
		if i > last+1 || i <= last && h.Data.Packets == 0 {
			continue // a bridge, or another device that does not count what it forwards
		}
		if ref < 0 || h.Data.Packets > 0 && !sameSize(l.size(l.path[ref]), l.size(h)) && h.Data.Bytes > fewBytes*l.path[ref].Data.Bytes {
			ref = i
			continue
		}
		of := l.path[ref].Data.Packets
		lost := of - h.Data.Packets
		switch {
		case lost <= -missingLoss*of:
			continue // other packets joined: compare with those behind
		case lost > 0 && l.joined(ref, i, lost):
		case lost > 0:
			rule, before := atDevice, l.path[ref]
			if l.narrow(i) {
				rule = atMTU
			}
			lost -= l.counted(2*ref, 2*(i+2))
			verb, why := lang.T("vanished between %s %s and %s %s", before.In, before.Dev, h.In, h.Dev), lang.T("no counter of a drop shows them")
			program, full := l.fullSocket(h, lost)
			if full {
				verb, why = lang.T("found the receive buffer of %s in %s full", program, h.In), lang.T("the kernel of %s counts them as dropped at UDP sockets (RcvbufErrors)", h.In)
			}
			l.add(rule, 2*i-1, lost, of, verb, why)
			g := l.last()
			g.missing = !full
			if rule == atDevice && before.In == h.In { // a filter takes packets after a device has counted them
				g.place = before.In + " " + before.Dev
			}
		}
		ref = i
	}
}

// lastCounting returns the index of the last hop that packets reached, -1 if there is none.
func lastCounting(path []evidence.Hop) int {
	for i, h := range slices.Backward(path) {
		if h.Data.Packets > 0 {
			return i
		}
	}
	return -1
}

// counted returns the packets of the gaps between two steps.
func (l *ladder) counted(from, to int) (lost float64) {
	for _, g := range l.gaps {
		if from <= g.at && g.at <= to {
			lost += g.lost
		}
	}
	return lost
}

func (l *ladder) size(h evidence.Hop) float64 { return l.sizes[device{h.In, h.Dev}] }

// sameSize reports whether mean sizes of packets differ by headers at most.
func sameSize(a, b float64) bool { return max(a, b)-min(a, b) <= 100+0.02*max(a, b) }

// narrow reports whether hop i has a smaller MTU than the plan, and packets that do not fit.
func (l *ladder) narrow(i int) bool {
	d, known := deviceOf(l.o.Settings, l.path[i].In, l.path[i].Dev)
	need, extra := planned(l.o, i)
	size := 0.0
	for _, h := range l.path[:i+1] {
		size = max(size, h.Data.Size()-etherHeader+extra)
	}
	if segment := float64(record.MSS.Of(l.o.Observed)); segment > 0 { // a packet stands for many, and each must fit
		headers := 20.0 + 20 // IPv4, TCP
		if overIPv6(l.o.Evidence) {
			headers = 40 + 20
		}
		size = min(size, segment+tcpOptions+headers+extra)
	}
	return known && float64(d.MTU) < need && float64(d.MTU) < size
}

// encapsulating lists how packets get from one device to the next with headers around them, and back without
// (plan.Hop.By). Other programs move packets as they are, or in both ways: then no MTU that fits the path's
// is too small.
var encapsulating = []string{"vxlan", "geneve", "a program", "docker", "felix", "flanneld", "weaver"}

// planned returns the MTU that the plan needs at hop i of a trial's path, 0 if it is unknown, and how many of
// these bytes encapsulation adds there.
func planned(o analysis.Observed, i int) (mtu, overhead float64) {
	if mtu = float64(record.PathMTU.Of(o.Observed)); mtu == 0 {
		return 0, 0
	}
	inside := false
	for _, h := range o.Evidence.Path[:i+1] {
		if slices.Contains(encapsulating, h.By) {
			inside = !inside
		}
	}
	if inside {
		overhead = float64(record.PathOverhead.Of(o.Observed))
	}
	return mtu + overhead, overhead
}

// tooSmall returns the first device of a trial's path whose MTU is smaller than the plan needs; false if there
// is none.
func tooSmall(o analysis.Observed) (hop evidence.Hop, mtu int, need float64, ok bool) {
	for i, h := range o.Evidence.Path {
		d, known := deviceOf(o.Settings, h.In, h.Dev)
		if need, _ = planned(o, i); known && float64(d.MTU) < need {
			return h, d.MTU, need, true
		}
	}
	return evidence.Hop{}, 0, 0, false
}

const etherHeader = 14
