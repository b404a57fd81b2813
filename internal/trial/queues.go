package trial

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/record"
)

// queues records what the kernel says now about the devices that the plan expects on the trial's path: in
// rx.queues how many receive queues they have, and in rps the masks of CPUs that these give packets to,
// or off. A kernel that shows neither (sysfs cannot be mounted) is recorded as rps unknown if the plan
// states a mask. It returns an error if a device lacks the plan's mask.
func (s *Setup) queues(r *record.Result) error {
	steered := s.steered()
	var masks, counts []string
	seen := map[[2]string]bool{}
	for _, e := range s.Plan.Expect {
		node, at := s.Site.Nodes[e.In], [2]string{e.In, e.Dev}
		here := e.In == s.Client.Host || e.In == s.Server.Host || e.MustCarry && e.Concerns(s.Client, s.Server)
		if e.Dev == "" || node == nil || seen[at] || !here {
			continue
		}
		seen[at] = true
		queues := rxQueues(s.files(node), e.Dev)
		if len(queues) == 0 {
			if steered[e.In] {
				masks = append(masks, "unknown")
			}
			continue
		}
		counts = append(counts, strconv.Itoa(len(queues)))
		for _, mask := range queues {
			if steered[e.In] && mask == rpsOff {
				return fmt.Errorf("receive packet steering of %s in %s is off, the plan has it on: the device is older than the mask, or something else changed it", e.Dev, e.In)
			}
		}
		masks = append(masks, queues...)
	}
	for _, vs := range [][]string{masks, counts} {
		slices.Sort(vs)
	}
	record.RPS.Put(r.Observed, slices.Compact(masks))
	record.RxQueues.Put(r.Observed, slices.Compact(counts))
	return nil
}

// steered returns the places whose devices the plan makes with a mask.
func (s *Setup) steered() map[string]bool {
	places := map[string]bool{}
	for _, step := range s.Plan.Steps {
		if step.Sysctl != nil && step.Sysctl.Key == plan.DefaultRPS {
			places[step.In] = true
		}
	}
	return places
}

// rpsOff is the state of a receive queue with an empty mask.
const rpsOff = "off"

// rxQueues returns the mask of each receive queue of a device, in hexadecimal; none if the node cannot
// read them.
func rxQueues(node fs.FS, dev string) (masks []string) {
	for {
		b, err := fs.ReadFile(node, queueFile(dev, len(masks)))
		if err != nil {
			return masks
		}
		mask := strings.TrimLeft(strings.TrimSpace(string(b)), "0,")
		if mask == "" {
			mask = rpsOff
		}
		masks = append(masks, mask)
	}
}

func queueFile(dev string, n int) string {
	return fmt.Sprintf("sys/class/net/%s/queues/rx-%d/rps_cpus", dev, n)
}

// usualQueues is how many receive queues a device has at most, as a rule; more are found one by one.
const usualQueues = 32

// queueFiles lists the files of a device's first receive queues, whether they exist or not.
func queueFiles(dev string) (names []string) {
	for n := range usualQueues {
		names = append(names, queueFile(dev, n))
	}
	return names
}

// spread adds how far the CPUs shared the receive processing of the machine, from before the client to
// after it. rx.cpus is all packets divided by those of the busiest CPU: 1 if that one processed all, 2
// if two shared them equally. rps.rate is how often a CPU was woken because another had given it
// packets.
func (s *Setup) spread(r *record.Result, x *execution) {
	all := spans(s.hosts(), x.readings.First, x.readings.Last)
	sum, most := 0.0, 0.0
	for _, host := range all {
		n, busiest := received(host)
		switch {
		case s.Site.Private:
			sum, most = sum+n, max(most, busiest)
		case n > sum: // two machines: the one that received more
			sum, most = n, busiest
		}
	}
	if most <= 0 {
		return
	}
	add(r, record.RxCPUs.Whole(), "1", sum/most)
	add(r, record.RPSRate.Whole(), "1/s", perSecond(all, "softnet.rps"))
}

// received returns how many packets the CPUs of a host processed, and the one that processed most.
func received(host span) (sum, most float64) {
	for name, packets := range host.Counters {
		if strings.HasPrefix(name, "softnet.cpu") && strings.HasSuffix(name, ".processed") {
			packets = wrapped(packets)
			sum, most = sum+packets, max(most, packets)
		}
	}
	return sum, most
}
