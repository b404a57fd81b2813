package finding

import (
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/unit"
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
				Evidence:   []lang.Text{lang.T("%s: %s of a CPU in %d blocks", strings.Join(p.values, ", "), percent(share), share.N)},
				Untestable: lang.T("weir has no network on which a device of the kernel does the work of this program")}
			part, _ := analysis.Exceeds(all, 0, func(o analysis.Observed) (float64, float64) {
				own, _ := o.Get("cpu.own")
				path := own.Value // with the programs, almost all that the path uses, whatever else uses the machine
				for _, x := range programs {
					path += x.cores(o)
				}
				return p.cores(o), path
			})
			whole := strings.Replace(r.Own.Name, ".own.", ".", 1) // of the machine: the program is no thread of the engine
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

// A service is a program of a network and the values that hold its CPU time.
type service struct {
	place, name string // the place is "" if unknown
	values      []string
}

func (p service) cores(o analysis.Observed) (sum float64) {
	for _, name := range p.values {
		v, _ := o.Get(name)
		sum += v.Value
	}
	return sum
}

// notServices are the values cpu.NAME that are not the CPU time of a service (package trial). exe is this
// program as a relay, whose threads have names.
var notServices = []string{"user", "system", "softirq", "irq", "steal", "guest", "busy", "used", "accounted", "frequency", "weir", "own", "wait", "per", "idle-baseline", "exe"}

// services returns the services whose CPU time some trial stored: by place from the values of their threads,
// otherwise from those of their processes. A trial leaves out threads that hardly ran.
func services(trials []analysis.Observed) (all []service) {
	add := func(place, name, value string) {
		i := slices.IndexFunc(all, func(p service) bool { return p.place == place && p.name == name })
		if i < 0 {
			i, all = len(all), append(all, service{place: place, name: name})
		}
		if !slices.Contains(all[i].values, value) {
			all[i].values = append(all[i].values, value)
		}
	}
	for _, o := range trials {
		for _, v := range o.Values {
			stored, ok := strings.CutPrefix(v.Name, "thread.")
			place, name, _ := strings.Cut(stored, ".")
			name, _, _ = strings.Cut(name, "/")
			if !ok {
				continue
			}
			if _, known := o.Get("cpu." + name); known && !strings.HasPrefix(name, "qemu-") || strings.HasPrefix(name, "weir-relay") {
				add(place, name, v.Name)
			}
		}
	}
	placed := slices.Clone(all)
	for _, o := range trials {
		for _, v := range o.Values {
			name, ok := strings.CutPrefix(v.Name, "cpu.")
			first, _, _ := strings.Cut(name, ".")
			by := slices.ContainsFunc(placed, func(p service) bool { return p.name == name })
			if ok && v.Unit == "core" && !by && !strings.HasPrefix(name, "qemu-") && !strings.Contains(name, "/") && !slices.Contains(notServices, first) {
				add("", name, v.Name)
			}
		}
	}
	return all
}

// packetRate returns the packets per second that a trial's data took.
func packetRate(o analysis.Observed) float64 {
	if v, ok := o.Get("packet.rate"); ok {
		return v.Value
	}
	if v, ok := o.Get("transactions"); ok {
		return 2 * v.Value
	}
	if o.Evidence.Seconds <= 0 {
		return 0
	}
	return entered(o.Evidence) / o.Evidence.Seconds
}
