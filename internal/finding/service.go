package finding

import (
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

const (
	// perPacket is the least CPU time per packet of a program that carries packets, s.
	perPacket = 0.3e-6
	// working is the least share of a CPU that such a program uses: daemons use some when nothing happens.
	working = 0.01
)

var serviceInPath = Rule{
	ID:    "service-in-path",
	Title: "A program carries the packets",
	Doc: "A service of the network used 0.3 µs of CPU time or more per packet, and 1 % of a CPU: packets pass it in user space. A daemon that only manages a network uses less at any packet rate; a relay takes 3 µs. " +
		"The time of QEMU is mostly that of its guest, so it is left out. More than half of the blocks, of at least three, must show it.",
	Check: measured(func(_ *analysis.Table, r *analysis.Row) (out []Finding) {
		all := r.Evidence()
		programs := services(all)
		for _, p := range programs {
			each, costly := analysis.Exceeds(all, perPacket, func(o analysis.Observed) (float64, float64) { return p.cores(o), packetRate(o) })
			share, _ := analysis.Exceeds(all, working, func(o analysis.Observed) (float64, float64) { return p.cores(o), 1 }) // a mean
			if !costly || share.Center < working {
				continue
			}
			subject := lang.Text(p.name)
			if p.place != "" {
				subject = lang.T("%s in %s", p.name, p.place)
			}
			f := Finding{Severity: Note, Place: p.place, Number: &Number{lang.T("%s's CPU time per packet", p.name), "s/packet", each},
				Text:       lang.T("%s carries the packets in user space: %s of CPU time per packet", subject, unit.Format(each.Center, "s")),
				Evidence:   []lang.Text{lang.T("%s: %s of a CPU in %d blocks", joined(p.values), prose.PercentWithin(share), share.N)},
				Untestable: lang.T("weir has no network on which a device of the kernel does the work of this program")}
			part, _ := analysis.Exceeds(all, 0, func(o analysis.Observed) (float64, float64) {
				own, _ := o.Get(record.CPUOwn)
				path := own.Value // with the programs, almost all that the path uses, whatever else uses the machine
				for _, x := range programs {
					path += x.cores(o)
				}
				return p.cores(o), path
			})
			whole := machineCost[r.Own.Name] // of the machine: the program is no thread of the engine
			switch kernel := inKernel[r.Network]; {
			case kernel == "":
			case whole == "" || part.N == 0:
				f.Untestable = lang.T("the probe measures no CPU time of its own")
			default:
				least := 1 - min(part.Center, 1)/2
				f.Untestable, f.Test = "", &Test{Network: kernel, Metric: whole, Factor: least,
					Text: lang.T("Refuted if %s, on which the kernel does this, saves less than %.0f %% of the machine's CPU time %s, half of the program's", kernel, 100*(1-least), perWork(r))}
			}
			out = append(out, f)
		}
		return out
	}),
}

// inKernel names the network on whose path the kernel does what a program of a network does, and nothing else
// differs: frames of pods between two hosts, in UDP. A network under another name, or with options, is not here.
var inKernel = map[string]string{"relay": "vxlan-overlay", "flannel-udp": "flannel-vxlan", "weave-sleeve": "weave"}

// machineCost is the machine's cost per work of each cost of the ends' own threads.
var machineCost = map[record.Quantity]record.Quantity{record.CPUOwnPerPacket: record.CPUPerPacket,
	record.CPUOwnPerTransaction: record.CPUPerTransaction, record.CPUOwnPerBit: record.CPUPerBit}

// A service is a program of a network and the values that hold its CPU time.
type service struct {
	place, name string // the place is "" if unknown
	values      []record.Key
}

func (p service) cores(o analysis.Observed) (sum float64) {
	for _, k := range p.values {
		v, _ := o.Value(k)
		sum += v.Value
	}
	return sum
}

func joined(keys []record.Key) string {
	var all []string
	for _, k := range keys {
		all = append(all, k.String())
	}
	return strings.Join(all, ", ")
}

// services returns the services whose CPU time some trial stored: by place from the values of their threads,
// otherwise from those of their processes. A trial leaves out threads that hardly ran. QEMU's time is mostly
// that of its guest, and exe is this program as a relay, whose threads have names.
func services(trials []analysis.Observed) (all []service) {
	add := func(place string, k record.Key) {
		i := slices.IndexFunc(all, func(p service) bool { return p.place == place && p.name == k.Program })
		if i < 0 {
			i, all = len(all), append(all, service{place: place, name: k.Program})
		}
		if !slices.Contains(all[i].values, k) {
			all[i].values = append(all[i].values, k)
		}
	}
	for _, o := range trials {
		for _, v := range o.Values {
			_, known := o.Value(record.CPUProgram.Thread("", v.Program, ""))
			if v.Name == record.CPUThread && (known && !strings.HasPrefix(v.Program, "qemu-") || strings.HasPrefix(v.Program, "weir-relay")) {
				add(v.Place, v.Key())
			}
		}
	}
	placed := slices.Clone(all)
	for _, o := range trials {
		for _, v := range o.Values {
			by := slices.ContainsFunc(placed, func(p service) bool { return p.name == v.Program })
			if v.Name == record.CPUProgram && v.Thread == "" && !by && !strings.HasPrefix(v.Program, "qemu-") && v.Program != "exe" {
				add("", v.Key())
			}
		}
	}
	return all
}

// packetRate returns the packets per second that a trial's data took.
func packetRate(o analysis.Observed) float64 {
	if v, ok := o.Get(record.PacketRate); ok {
		return v.Value
	}
	if v, ok := o.Get(record.Transactions); ok {
		return 2 * v.Value
	}
	if o.Evidence.Seconds <= 0 {
		return 0
	}
	return entered(o.Evidence) / o.Evidence.Seconds
}
