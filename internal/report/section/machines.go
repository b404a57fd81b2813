package section

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// Where says between which machines a run measured networks that exist; "" for the lab.
func Where(r *account.Account) string {
	if !r.Target.Exists() {
		return ""
	}
	var all []string
	for _, m := range r.Machines {
		all = append(all, m.Name)
	}
	names := prose.Machines(all)
	if r.Target.Kube == nil {
		return say("measured between %s over SSH", names)
	}
	cluster := say("a Kubernetes cluster")
	if c := r.Target.Kube.Context; c != "" {
		cluster = say("cluster %s", c)
	}
	if onlyHosts(r) {
		return say("measured between %s in %s", names, cluster)
	}
	return say("measured between pods of %s in %s", names, cluster)
}

// onlyHosts reports whether all ends are hosts themselves.
func onlyHosts(r *account.Account) bool {
	return !slices.ContainsFunc(r.Analysis.Networks, func(n string) bool { return n != "host" && n != "via" })
}

// machineSection shows the machines that a target found, and what was measured between them.
func machineSection(s source) []doc.Section {
	if !s.Target.Exists() {
		return nil
	}
	x := doc.Section{ID: "machines", Title: say("Machines"), In: doc.Full}
	if f, lines := s.whoAndWhom(); lines != nil {
		x.Figures, x.Lines = []doc.Figure{f}, lines
	}
	ms := s.described()
	if len(ms) > 0 {
		x.Tables = []doc.Table{machineTable(ms)}
	}
	x.Notes = machineNotes(ms)
	x.Facts = s.cluster()
	return []doc.Section{x}
}

// A described machine is a name and what is known about it.
type described struct {
	analysis.Machine
	facts.Facts
	nic string // the device that was measured, or the only physical one; "" if unknown
}

// described returns the machines whose facts the run stored, in the order of hosts.
func (s source) described() (out []described) {
	used := map[string]string{} // device by machine, of the network nearest to the hardware
	for r := range s.p.Results() {
		for _, e := range endsOf(r) {
			if e.host != "" && (used[e.host] == "" || r.Config[analysis.Network] == "host") {
				used[e.host] = e.device
			}
		}
	}
	for _, m := range s.Machines {
		d := described{Machine: m}
		b, ok := s.Hosts[m.Name]
		if !ok || json.Unmarshal(b, &d.Facts) != nil {
			out = append(out, d)
			continue
		}
		d.nic = used[m.Name]
		if _, ok := d.Devices[d.nic]; !ok { // a pod's, which another machine's facts do not have
			d.nic = onlyPhysical(d.Devices)
		}
		out = append(out, d)
	}
	return out
}

// An endAt is the machine and the device of an end, on networks that were found.
type endAt struct{ host, device string }

// endsOf returns the client's and the server's.
func endsOf(r *record.Result) [2]endAt {
	o := r.Observed
	return [2]endAt{{record.ClientHost.Of(o), record.ClientDevice.Of(o)}, {record.ServerHost.Of(o), record.ServerDevice.Of(o)}}
}

func onlyPhysical(devices map[string]facts.Device) (nic string) {
	for name, d := range devices {
		if d.Kind != facts.Physical {
			continue
		}
		if nic != "" {
			return ""
		}
		nic = name
	}
	return nic
}

// architecture heads a column that is there only where machines differ.
const architecture = "architecture"

// machineColumns are what a reader compares. Facts has the rest.
var machineColumns = []struct {
	head string
	of   func(described) string
}{
	{"zone", func(d described) string { return d.Zone }},
	{"kernel", func(d described) string { return d.Kernel }},
	{architecture, func(d described) string { return d.Facts.Machine }},
	{"CPU", func(d described) string { return d.CPU }},
	{"CPUs", func(d described) string {
		if d.CPUs == 0 {
			return ""
		}
		return fmt.Sprint(d.CPUs)
	}},
	{"NIC", func(d described) string { return d.nic }},
	{"driver", func(d described) string {
		v := d.Devices[d.nic]
		if v.Driver == "" && v.Kind != facts.Physical {
			return v.Kind
		}
		return v.Driver
	}},
	{"speed", func(d described) string {
		if v := d.Devices[d.nic].Speed; v > 0 {
			return unit.Format(v, "bit/s")
		}
		return ""
	}},
	{"MTU", func(d described) string {
		if v := d.Devices[d.nic].MTU; v > 0 {
			return fmt.Sprint(v)
		}
		return ""
	}},
	{"offloads", func(d described) string { return offloads.Replace(prose.List(d.Devices[d.nic].Offloads)) }},
}

// offloads shortens names of ethtool(8) to those that people use.
var offloads = strings.NewReplacer("tcp-segmentation-offload", "TSO", "generic-segmentation-offload", "GSO", "generic-receive-offload", "GRO",
	"large-receive-offload", "LRO", "scatter-gather", "SG", "rx-checksumming", "rx checksum", "tx-checksumming", "tx checksum")

// different marks a value that most machines do not have.
const different = " ≠"

// machineTable has a row per machine, or per group of equal ones if they are many.
func machineTable(ms []described) doc.Table {
	rows := [][]string{}
	index := map[string]int{} // of rows, by what they say
	named := [][]string{}
	for _, m := range ms {
		var row []string
		for _, c := range machineColumns {
			row = append(row, c.of(m))
		}
		key := strings.Join(row, "\x00")
		if i, ok := index[key]; ok && len(ms) > fewMachines {
			named[i] = append(named[i], m.Name)
			continue
		}
		index[key] = len(rows)
		rows, named = append(rows, row), append(named, []string{m.Name})
	}
	t := doc.Table{ID: "machines-table", Prose: true, Columns: []doc.Column{{Head: say("machine"), Left: true, Kind: "name", Keep: 9, Whole: true}}}
	var heads []int
	for i, c := range machineColumns {
		usual := ""
		if c.head == architecture {
			usual = rows[0][i]
		}
		if slices.ContainsFunc(rows, func(r []string) bool { return r[i] != usual }) {
			heads = append(heads, i)
			t.Columns = append(t.Columns, doc.Column{Head: word(c.head), Left: true, Keep: max(0, 8-i)})
		}
	}
	for n, row := range rows {
		name := doc.Cell{Text: prose.Machines(named[n])}
		if len(named[n]) > 6 {
			name.More = named[n]
		}
		cells := []doc.Cell{name}
		for _, i := range heads {
			text := cmp.Or(row[i], "–")
			if i > 0 && row[i] != "" && row[i] != usual(rows, named, i) { // zones differ by intent
				text += different
			}
			cells = append(cells, doc.Cell{Text: text})
		}
		t.Rows = append(t.Rows, doc.Row{Cells: cells})
	}
	return t
}

// usual returns the known value of column i that most machines have, the first one of several.
func usual(rows [][]string, named [][]string, i int) (most string) {
	n := map[string]int{}
	for r, row := range rows {
		n[row[i]] += len(named[r])
	}
	best := 0
	for _, row := range rows {
		if row[i] != "" && n[row[i]] > best {
			most, best = row[i], n[row[i]]
		}
	}
	return most
}

// machineNotes say what the table cannot, for each machine.
func machineNotes(ms []described) []string {
	var notes said
	for _, m := range ms {
		if m.CPULimit > 0 {
			notes.add(m.Name, say("control groups limit weir to %s of %s here (throttled in %s before the run): a limit stops programs in the middle of a window. Remove it, and keep requests",
				unit.Format(m.CPULimit, "core"), prose.Count(m.CPUs, "CPU"), prose.Count(int(m.Throttled), "period")))
		}
		if m.Sandbox != "" {
			notes.add(m.Name, say("the container runtime (%s) has a kernel of its own: counters and CPU time are that kernel's, not the machine's", m.Sandbox))
		}
	}
	out := notes.lines(nil)
	var heads []string
	for _, c := range machineColumns[1:] { // zones differ by intent
		known := map[string]bool{}
		for _, m := range ms {
			if v := c.of(m); v != "" {
				known[v] = true
			}
		}
		if len(known) > 1 {
			heads = append(heads, word(c.head))
		}
	}
	if heads != nil {
		out = append(out, say("The machines differ in: %s. ≠ marks the values that most of them do not have.", prose.List(heads)))
	}
	return out
}

// cluster returns what the target found about the cluster, once.
func (s source) cluster() (out []doc.Fact) {
	found := map[string]string{}
	for r := range s.p.Results() {
		for name, v := range r.Observed.Cluster() {
			if found[name] == "" {
				found[name] = v
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(found)) {
		out = append(out, doc.Fact{Key: say("cluster %s", strings.ReplaceAll(k, "cni", "CNI")), Value: found[k]})
	}
	return out
}
