package finding

import (
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// working is the least share of a CPU that a program uses for packets, above what it uses without: less is not resolved.
const working = 0.01

var serviceInPath = Rule{
	ID:    "service-in-path",
	Title: "A program carries the packets",
	Doc: "The plan of the network makes packets pass a program: a relay, a switch in user space. The rule says what that costs per packet: its CPU time less what it uses when next to nothing passes, which a cell of the same network with a tenth of the packets shows, " +
		"or 3 % of a CPU if there is none, for each packet that was sent, lost ones included. Without 1 % of a CPU beyond that, in more than half of at least three blocks, it gives no number. Programs that only manage a network are left out, and QEMU, whose time is mostly that of its guest.",
	Check: func(run *analysis.Run) []Finding {
		return measured(func(_ *analysis.Table, r *analysis.Row) (out []Finding) {
			for _, p := range services(r.Evidence()) {
				out = append(out, p.finding(run, r))
			}
			return out
		})(run)
	},
}

// finding says that a program carries a row's packets, and for how much CPU time if the row resolves it.
func (p service) finding(run *analysis.Run, r *analysis.Row) Finding {
	all, idle := r.Evidence(), p.idle(run, r)
	beyond := func(o analysis.Observed) float64 { return max(0, p.cores(o)-idle) }
	f := Finding{Severity: Note, Place: p.place, Subject: lang.T("%s in %s", p.name, p.place), Text: lang.T("%s in %s carries the packets in user space", p.name, p.place),
		Untestable: lang.T("weir has no network on which a device of the kernel does the work of this program")}
	share, used := analysis.Exceeds(all, working, func(o analysis.Observed) (float64, float64) { return beyond(o), 1 }) // a mean
	each, costly := analysis.Exceeds(all, 0, func(o analysis.Observed) (float64, float64) { return beyond(o), packetRate(o) })
	if !used || !costly {
		return f
	}
	f.Text += lang.T(": %s of CPU time per packet", unit.Format(each.Center, "s"))
	if r.Lost.N > 0 && r.Lost.Center > fewLost {
		f.Text += lang.T(" that was sent, lost ones included")
	}
	f.Number = &Number{lang.T("%s's CPU time per packet", p.name), "s/packet", each}
	f.Evidence = []lang.Text{lang.T("%s: %s of a CPU in %d blocks", joined(p.values), prose.PercentWithin(share), share.N)}
	part, _ := analysis.Exceeds(all, 0, func(o analysis.Observed) (float64, float64) {
		own, _ := o.Get(record.CPUOwn)
		path := own.Value + beyond(o) // with the other programs, almost all that the path uses, whatever else uses the machine
		for _, x := range services(all) {
			if x.place != p.place || x.name != p.name {
				path += x.cores(o)
			}
		}
		return beyond(o), path
	})
	whole := machineCost[r.Own.Name] // of the machine: the program is not a thread of the engine
	switch kernel := inKernel[r.Network]; {
	case kernel == "":
	case whole == "" || part.N == 0:
		f.Untestable = lang.T("the probe measures no CPU time of its own")
	default:
		least := 1 - min(part.Center, 1)/2
		f.Untestable, f.Test = "", &Test{Network: kernel, Metric: whole, Factor: least,
			Text: lang.T("Refuted if %s, on which the kernel does this, saves less than %.0f %% of the machine's CPU time %s, half of the program's", kernel, 100*(1-least), perWork(r))}
	}
	return f
}

const (
	// fewLost is the largest share of packets that can be lost where a cost of a program is per packet: with more, the
	// program had fewer than were sent, and the text says so.
	fewLost = 0.05
	// mostIdle is the most that a daemon uses for its own wake-ups where no quiet cell shows it, cores: Open vSwitch
	// takes 2 % of a CPU.
	mostIdle = 0.03
	// fewer is the share of a cell's packets below which another cell shows what the program uses without them.
	fewer = 0.1
)

// idle returns the cores that a program uses when next to nothing passes: at most what it uses in the quietest cell.
func (p service) idle(run *analysis.Run, r *analysis.Row) float64 {
	mean := func(x *analysis.Row, of func(analysis.Observed) float64) (sum float64) {
		for _, o := range x.Evidence() {
			sum += of(o) / float64(len(x.Evidence()))
		}
		return sum
	}
	least, here := mostIdle, mean(r, packetRate)
	for _, x := range run.Rows() {
		if x.Network == r.Network && len(x.Evidence()) > 0 && mean(x, packetRate) < fewer*here {
			least = min(least, mean(x, p.cores))
		}
	}
	return least
}

// inKernel names the network on whose path the kernel does what a program of a network does, and nothing else
// differs: frames of pods between two hosts, in UDP. A network under another name, or with options, is not here.
var inKernel = map[string]string{"relay": "vxlan-overlay", "flannel-udp": "flannel-vxlan", "weave-sleeve": "weave"}

// machineCost is the machine's cost per work of each cost of the ends' own threads.
var machineCost = map[record.Quantity]record.Quantity{record.CPUOwnPerPacket: record.CPUPerPacket,
	record.CPUOwnPerTransaction: record.CPUPerTransaction, record.CPUOwnPerBit: record.CPUPerBit}

// A service is a program that carries packets in a place, and the values that hold its CPU time.
type service struct {
	place, name string
	values      []record.Key
}

func joined(keys []record.Key) string {
	var all []string
	for _, k := range keys {
		all = append(all, k.String())
	}
	return strings.Join(all, ", ")
}

func (p service) cores(o analysis.Observed) (sum float64) {
	for _, k := range p.values {
		v, _ := o.Value(k)
		sum += v.Value
	}
	return sum
}

// services returns the programs through which the plan makes packets pass, with the values of their threads; if no trial
// has any, because none ran enough, and the program is in one place only, with that of the process. A trial leaves out
// threads that hardly ran.
func services(trials []analysis.Observed) (all []service) {
	for _, o := range trials {
		for _, place := range slices.Sorted(maps.Keys(o.Evidence.Carriers)) {
			for _, name := range o.Evidence.Carriers[place] {
				if slices.ContainsFunc(all, func(p service) bool { return p.place == place && p.name == name }) {
					continue
				}
				all = append(all, service{place, name, threadsOf(trials, place, name)})
			}
		}
	}
	for i, p := range all {
		alone := !slices.ContainsFunc(all, func(x service) bool { return x.name == p.name && x.place != p.place })
		if p.values == nil && alone {
			all[i].values = []record.Key{record.CPUProgram.Thread("", p.name, "")}
		}
	}
	return all
}

// threadsOf lists the values of a program's threads in a place.
func threadsOf(trials []analysis.Observed, place, program string) (values []record.Key) {
	for _, o := range trials {
		for _, v := range o.Values {
			if k := v.Key(); k.Name == record.CPUThread && k.Place == place && k.Program == program && !slices.Contains(values, k) {
				values = append(values, k)
			}
		}
	}
	return values
}

// packetRate returns the packets per second that a trial's ends sent: of a stream those of its data, of requests all that
// the sender's device counted in both directions, at least one each way.
func packetRate(o analysis.Observed) float64 {
	if v, ok := o.Get(record.PacketRate); ok {
		sent, _ := o.Get(record.Sent)
		return max(v.Value, sent.Value)
	}
	rate := 0.0
	if v, ok := o.Get(record.Transactions); ok {
		rate = 2 * v.Value
	}
	if o.Evidence.Seconds > 0 && len(o.Evidence.Path) > 0 {
		rate = max(rate, (entered(o.Evidence)+o.Evidence.Path[0].Back.Packets)/o.Evidence.Seconds)
	}
	return rate
}
