package section

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// A draftCondition is what section 6.1.1 or 8 of draft-samizadeh-bmwg-cni-benchmarking-00 asks for, and what the run has; here is ""
// if the run did not record it.
type draftCondition struct{ item, asked, here string }

// draftConditions are the conditions of the run in the order of the draft.
func (s source) draftConditions() doc.Section {
	all := slices.Concat(s.draftTraffic(), s.draftRepetition(), s.draftMachines(), s.draftCluster())
	t := doc.Table{ID: "bmwg-conditions-table", Prose: true, Columns: []doc.Column{{Head: say("condition"), Left: true, Whole: true, Keep: 9}, {Head: say("asked for"), Left: true, Keep: 7}, {Head: say("this run"), Left: true, Keep: 9}}}
	for _, c := range all {
		t.Rows = append(t.Rows, doc.Row{Cells: doc.Texts(c.item, c.asked, cmp.Or(c.here, say("not recorded")))})
	}
	return doc.Section{ID: "bmwg conditions", Title: say("Conditions that the drafts ask for"), Label: say("Conditions that the drafts ask for"), Tables: []doc.Table{t}}
}

// draftTraffic is what was sent.
func (s source) draftTraffic() []draftCondition {
	var transports, sizes []string
	for t, r := range s.p.Rows() {
		kind := t.Probe
		if u, ok := s.Spec.Probe(t.Probe); ok {
			kind = u.Kind
		}
		for _, name := range []string{"TCP", "UDP"} {
			if strings.Contains(strings.ToUpper(kind), name) {
				transports = addNew(transports, name)
			}
		}
		for _, f := range []record.Fact[int]{record.Datagram, record.Size} {
			if n := f.Of(r.Observed); n > 0 {
				sizes = addNew(sizes, strconv.Itoa(n))
				break
			}
		}
	}
	slices.SortFunc(sizes, analysis.Natural)
	load := say("no traffic beside the test")
	if levels := s.Spec.Factors["load"]; len(levels) > 0 {
		load = prose.List(slices.Clone(levels))
	}
	payload := ""
	if sizes != nil {
		payload = say("%s bytes of payload", prose.List(sizes))
	}
	return []draftCondition{{say("transport protocols"), say("TCP and UDP"), prose.List(transports)}, {say("sizes"), say("64, 512 and 1500 bytes, and jumbo frames"), payload},
		{say("load"), say("idle, low and high"), load}}
}

// draftRepetition says how often the run measured, with which warm-up and which disturbances.
func (s source) draftRepetition() []draftCondition {
	trials := 0
	for _, r := range s.p.Rows() {
		trials += r.Trials()
	}
	disturbed := say("%d of %s were disturbed and do not count", s.p.Disturbed, prose.Count(trials, "trial"))
	if s.p.Busy != nil || s.p.Kept {
		disturbed = say("%d of %s were disturbed; some of them count", s.p.Disturbed, prose.Count(trials, "trial"))
	}
	if s.p.Disturbed == 0 {
		disturbed = say("none of %s was disturbed", prose.Count(trials, "trial"))
	}
	return []draftCondition{
		{say("repetition"), say("five runs"), say("1 run of %s in random order; weir run --runs 5 --every 10m makes five", prose.Count(s.p.Blocks, "block"))},
		{say("warm-up"), say("adequate"), unit.Format(s.Spec.Warmup.Seconds(), "s")},
		{say("no other workloads"), say("isolated test bed"), disturbed},
		{say("synchronized clocks"), say("NTP or PTP"), say("not needed: no time is taken across two clocks")},
	}
}

// draftMachines lists what the run recorded about its machines.
func (s source) draftMachines() (out []draftCondition) {
	for _, f := range Machines(s.Hosts) { // CPU and memory, kernel, version of weir
		out = append(out, draftCondition{f.Key, say("documented"), f.Value})
	}
	var systems, settings, governors, devices []string
	known := false // what settings differ
	for _, name := range slices.SortedFunc(maps.Keys(s.Hosts), analysis.Natural) {
		var f facts.Facts
		if json.Unmarshal(s.Hosts[name], &f) != nil {
			continue
		}
		systems, known = addNew(systems, f.Distribution), known || f.Settings != nil
		for _, key := range slices.SortedFunc(maps.Keys(f.Settings), analysis.Natural) {
			settings = addNew(settings, key+" = "+f.Settings[key].Value)
		}
		for _, g := range slices.Sorted(maps.Keys(f.Governors)) {
			governors = addNew(governors, g)
		}
	}
	tunables := prose.List(settings)
	if known && settings == nil {
		tunables = say("those that are known to move results have the kernel's defaults")
	}
	for _, d := range s.described() {
		if nic, ok := d.Devices[d.nic]; ok {
			devices = append(devices, d.Name+" "+d.nic+" ("+cmp.Or(nic.Driver, nic.Kind)+")")
		}
	}
	nic := prose.List(devices)
	if !s.Target.Exists() {
		nic = say("none: veths in one kernel")
	}
	return append(out, draftCondition{say("distribution"), say("documented"), prose.List(systems)}, draftCondition{say("system tunables"), say("documented"), tunables},
		draftCondition{"MTU", say("documented"), s.draftMTU()}, draftCondition{say("network interface type"), say("documented"), nic},
		draftCondition{say("CPU pinning"), say("consistent"), s.draftPinning()},
		draftCondition{say("power saving"), say("disabled"), governorsOf(governors)})
}

// draftPinning says whether client and server had CPUs of their own, by what the trials recorded.
func (s source) draftPinning() string {
	apart, together := false, false
	for _, r := range s.p.Rows() {
		for _, o := range r.Evidence() {
			a, b := o.Evidence.Sender, o.Evidence.Receiver
			if len(a.CPUs) == 0 || len(b.CPUs) == 0 {
				continue
			}
			shared := a.Host != b.Host || slices.ContainsFunc(a.CPUs, func(c int) bool { return slices.Contains(b.CPUs, c) })
			apart, together = apart || !shared, together || shared
		}
	}
	switch {
	case apart && together:
		return say("in some trials, client and server each have CPUs of their own")
	case apart:
		return say("client and server each have CPUs of their own")
	case together:
		return say("none: the ends can use all CPUs that their programs may use")
	}
	return ""
}

func governorsOf(all []string) string {
	if all == nil {
		return ""
	}
	return say("frequency governor: %s", prose.List(all))
}

// draftMTU lists the largest packet of each network's path.
func (s source) draftMTU() string {
	var all []string
	for _, n := range s.p.Networks {
		var sizes []string
		for _, r := range s.p.Rows() {
			if mtu := record.PathMTU.Of(r.Observed); r.Network == n && mtu > 0 {
				sizes = addNew(sizes, strconv.Itoa(mtu))
			}
		}
		if sizes != nil {
			all = append(all, n+" "+strings.Join(sizes, " / "))
		}
	}
	return prose.List(all)
}

// draftCluster names the cluster and its plugin, or says why there is none.
func (s source) draftCluster() []draftCondition {
	found := map[string]string{}
	for r := range s.p.Results() {
		maps.Copy(found, r.Observed.Products())
	}
	var products []string
	for _, k := range slices.Sorted(maps.Keys(found)) {
		products = append(products, k+" "+found[k])
	}
	kubernetes, plugin := say("none: weir built the networks"), prose.List(products)
	if s.Target.Exists() {
		kubernetes = say("none: machines over SSH")
	}
	if s.Target.Kube != nil {
		kubernetes = found["cluster.version"]
	}
	if plugin == "" && !s.Target.Exists() {
		plugin = say("no product: mechanisms of the kernel, as weir plan prints them")
	}
	return []draftCondition{{say("Kubernetes version and distribution"), say("documented"), kubernetes}, {say("CNI plugin version and configuration"), say("documented"), plugin}}
}
