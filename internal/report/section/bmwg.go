package section

import (
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// draftStudies is the prefix of the studies that follow the drafts. Their reports show the section; other reports show it only
// if asked (--section bmwg).
const draftStudies = "bmwg-"

// draftSection shows the numbers of a run under the names that the drafts of the IETF's benchmarking group give them, the metrics
// that it did not measure, and the conditions that the drafts ask for. docs/bmwg.md says which text of the drafts was read.
func draftSection(s source) []doc.Section {
	if s.p.Unpaired || len(s.p.Tables) == 0 {
		return nil
	}
	x := draftHeading(s.Name)
	x.About = say("Metrics and conditions have the names of draft-samizadeh-bmwg-cni-benchmarking and draft-ietf-bmwg-containerized-infra (docs/bmwg.md). An interval is over blocks, has 95 % confidence and holds by itself.")
	missing := doc.Table{ID: "bmwg-missing", Prose: true, Columns: []doc.Column{{Head: say("metric"), Left: true, Whole: true, Keep: 9}, {Head: say("why not, or what measures it"), Left: true, Keep: 9}}}
	for _, m := range draftMetrics {
		if part := m.part(s); part.Tables != nil {
			part.Title, part.Label = m.name, m.name
			x.Parts = append(x.Parts, part)
			continue
		}
		why := m.why
		if m.by != "" {
			why = say("not by this run: %s", m.by)
		}
		missing.Rows = append(missing.Rows, doc.Row{Cells: doc.Texts(m.name, why)})
	}
	x.Parts = append(x.Parts, doc.Section{ID: "bmwg not measured", Title: say("Not measured"), Label: say("Not measured"), Tables: []doc.Table{missing}}, s.draftConditions())
	return []doc.Section{x}
}

func draftHeading(study string) doc.Section {
	x := doc.Section{ID: "bmwg", Title: say("In the terms of the IETF's drafts"), In: doc.Full}
	if !strings.HasPrefix(study, draftStudies) {
		x.In = []doc.Medium{doc.Alone}
	}
	return x
}

// DraftsOf says why a page about several runs of a study lacks the tables of the drafts, and what shows them.
func DraftsOf(study string) doc.Section {
	x := draftHeading(study)
	x.About = say("The drafts' tables are of one run: their intervals are over its blocks and cannot show how runs differ, as the ratios of this page do. With the directory of one run, weir report DIR --section bmwg prints them.")
	return x
}

func never(source) (none doc.Section) { return none }

// draftMetrics are the metrics of sections 4 and 6 of draft-samizadeh-bmwg-cni-benchmarking-00, in its order. For a metric that the
// run lacks, by is the command that measures it, or why says why weir has none.
var draftMetrics = []struct {
	name    string
	part    func(source) doc.Section
	by, why string
}{
	{say("One-way latency"), never, "", say("the clocks of two machines do not agree well enough; a round trip has one clock")},
	{say("Round-trip time (RTT)"), source.draftRTT, "weir run bmwg-latency", ""},
	{say("Throughput by search, without loss and with a bounded loss ratio"), source.draftSearch, "weir run bmwg-throughput", ""},
	{say("Throughput of streams"), source.draftStreams, "weir run -p tcp-stream,udp-stream", ""},
	{say("Packet loss rate"), source.draftLoss, "weir run -p udp-stream,udp-rr", ""},
	{say("Jitter"), source.draftJitter, "weir run -p udp-stream", ""},
	{say("Flow setup rate"), source.draftFlows, "weir run -p tcp-crr", ""},
	{say("Pod initialization and deletion time, CNI plugin deployment time"), never, "", say("weir adds no pods while it measures")},
	{say("CPU utilization"), source.draftCPU, "weir run bmwg-resources", ""},
	{say("Memory utilization"), never, "", say("weir does not read the memory of plugins")},
	{say("Policy enforcement delay"), source.draftPolicy, "weir run downtime-policy", ""},
	{say("Telemetry overhead"), never, "", say("a pair of runs, with and without the agent: weir compare")},
	{say("Power and energy consumption"), never, "", say("weir reads no power meter")},
}

// draftModes are the drafts' names of tests, by kind of probe.
var draftModes = map[string]string{"tcp-rr": "TCP_RR", "netperf-tcp-rr": "TCP_RR", "udp-rr": "UDP_RR", "netperf-udp-rr": "UDP_RR", "tcp-crr": "TCP_CRR", "netperf-crr": "TCP_CRR"}

// A drafted row is a row of a table, with what the drafts' tables say about it.
type drafted struct {
	analysis.Row
	kind, test, levels string
	unit               string
}

// drafted returns the rows with trials that count, for which has is true.
func (s source) drafted(has func(drafted) bool) (out []drafted) {
	for t, row := range s.p.Rows() {
		u, _ := s.Spec.Probe(t.Probe)
		d := drafted{Row: *row, kind: u.Kind, test: t.Probe, levels: prose.Levels(t.Levels), unit: t.Unit}
		if d.kind == "" {
			d.kind = t.Probe
		}
		if mode := draftModes[d.kind]; mode != "" {
			d.test = prose.Comma(mode, t.Probe)
		}
		if row.Counted() > 0 && has(d) {
			out = append(out, d)
		}
	}
	return out
}

// draftPart is a part with a table of rows; none without rows.
func (s source) draftPart(id string, rows []drafted, columns []doc.Filled, notes ...string) doc.Section {
	if len(rows) == 0 {
		return doc.Section{}
	}
	text := func(head string, keep int, get func(drafted) string) doc.Filled {
		return doc.Layout(doc.Column{Head: head, Left: true, Kind: "name", Keep: keep}, rows, func(d drafted) doc.Cell { return doc.Cell{Text: get(d)} })
	}
	first := []doc.Filled{text(say("test"), 9, func(d drafted) string { return d.test }), text(say("network"), 9, func(d drafted) string { return d.Network }),
		text(say("conditions"), 9, func(d drafted) string { return d.levels })}
	t := doc.Tabulate("bmwg "+id+" table", append(first, columns...)...)
	for i, d := range rows {
		t.Rows[i].Network, t.Rows[i].Baseline = d.Network, d.Network == s.p.Baseline
	}
	return doc.Section{ID: "bmwg " + id, Tables: []doc.Table{t}, Notes: notes}
}

// within is a column of estimates and one of their intervals.
func within[T any](head, base string, keep int, rows []T, get func(T) stat.Interval) []doc.Filled {
	i := doc.Intervals(base, rows, get)
	i.Keep = keep - 1
	return []doc.Filled{doc.Numbers(head, base, keep, rows, func(x T) (float64, bool) { return doc.Center(get(x)) }), i}
}

// plain returns the rows as other tables have them.
func plain(rows []drafted) (out []analysis.Row) {
	for _, d := range rows {
		out = append(out, d.Row)
	}
	return out
}

func (s source) draftRTT() doc.Section {
	rows := s.drafted(func(d drafted) bool { return d.Hist != nil && (draftModes[d.kind] != "" || d.kind == "ping") })
	extreme := func(head string, get func(drafted) int64) doc.Filled {
		return doc.Numbers(head, "s", 5, rows, func(d drafted) (float64, bool) { return float64(get(d)) / 1e9, true })
	}
	cs := []doc.Filled{extreme("min", func(d drafted) int64 { return d.Hist.Min() })}
	cs = append(cs, within("median", "s", 9, rows, func(d drafted) stat.Interval { return d.Value })...)
	for _, p := range []struct {
		head string
		keep int
		at   float64
	}{{"p90", 7, 0.9}, {"p95", 7, 0.95}, {"p99", 8, 0.99}} {
		cs = append(cs, within(p.head, "s", p.keep, rows, func(d drafted) stat.Interval { return d.PercentileInterval(p.at) })...)
	}
	cs = append(cs, extreme("max", func(d drafted) int64 { return d.Hist.Max() }))
	return s.draftPart("rtt", rows, cs, say("The median is over blocks; percentiles, minimum and maximum are of all responses together. A maximum grows with the length of a run."))
}

func (s source) draftStreams() doc.Section {
	rows := s.drafted(func(d drafted) bool {
		return (d.unit == "bit/s" || d.unit == "packet/s") && !record.CapacityKind.In(d.Observed)
	})
	cs := within("throughput", "bit/s", 9, rows, func(d drafted) stat.Interval {
		if d.unit == "bit/s" {
			return d.Value
		}
		return d.Estimate(record.Throughput.Whole())
	})
	cs = append(cs, within("datagrams", "packet/s", 7, rows, func(d drafted) stat.Interval { return d.Estimate(record.Delivered.Whole()) })...)
	return s.draftPart("streams", rows, cs, say("Payload that arrived. Streams send as fast as they can, so datagrams are lost here: this is no throughput in the sense of RFC 2544."))
}

func (s source) draftLoss() doc.Section {
	rows := s.drafted(func(d drafted) bool { return d.Lost.N > 0 && !record.CapacityKind.In(d.Observed) })
	return s.draftPart("loss", rows, lossColumns(plain(rows)))
}

func (s source) draftJitter() doc.Section {
	jitter := func(d drafted) stat.Interval { return d.Estimate(record.Jitter.Whole()) }
	rows := s.drafted(func(d drafted) bool { return jitter(d).N > 0 })
	return s.draftPart("jitter", rows, within("jitter", "s", 9, rows, jitter), say("By RFC 3550, section 6.4.1; the draft refers to RFC 5481."))
}

func (s source) draftFlows() doc.Section {
	flows := func(d drafted) stat.Interval { return d.Estimate(record.Transactions.Whole()) }
	rows := s.drafted(func(d drafted) bool { return draftModes[d.kind] == "TCP_CRR" && flows(d).N > 0 })
	return s.draftPart("flows", rows, within("flows per second", "1/s", 9, rows, flows), say("One connection at a time, each with a request and its response: what one client gets, and not how many a network can set up at once."))
}

func (s source) draftCPU() doc.Section {
	used := func(d drafted) stat.Interval { return d.Estimate(record.CPUUsed.Whole()) }
	rows := s.drafted(func(d drafted) bool { _, ok := d.Cost(); return ok || used(d).N > 0 })
	cs := within("used CPUs", "core", 9, rows, used)
	cs = append(cs, doc.Numbers("CPUs", "core", 8, rows, func(d drafted) (float64, bool) { c, ok := d.Get(record.CPUs); return c.Median, ok }))
	for _, name := range cpuNames {
		cs = append(cs, costAndInterval("CPU", 8, plain(rows), func(r analysis.Row) (stat.Interval, string, bool) {
			c, ok := r.CostPer(name)
			return c.Interval, c.Unit, ok && !c.Unresolved
		})...)
	}
	cs = append(cs, doc.Layout(doc.Column{Head: say("programs of the network"), Left: true, Keep: 6}, rows, func(d drafted) doc.Cell {
		var all []string
		for _, v := range d.Values {
			if v.Name == record.CPUProgram && v.Thread == "" {
				all = append(all, v.Program+" "+unit.Format(v.Median, v.Unit))
			}
		}
		return doc.Cell{Text: prose.List(all)}
	}))
	return s.draftPart("cpu", rows, cs, say("Used CPUs are those of all ends' machines with all that ran on them; CPU is what a bit, a packet or a transaction took of them beyond their idle use."))
}

func (s source) draftPolicy() doc.Section {
	all := slices.DeleteFunc(s.p.Downtimes(), func(d analysis.Downtime) bool { return d.PassedFor.N == 0 })
	if len(all) == 0 {
		return doc.Section{}
	}
	cs := []doc.Filled{doc.Names("event", all, func(d analysis.Downtime) string { return eventName(d.Event) }),
		doc.Layout(doc.Column{Head: say("network"), Left: true, Kind: "name", Keep: 9}, all, func(d analysis.Downtime) doc.Cell { return doc.Cell{Text: d.Network} })}
	cs = append(cs, within("still answered for", "s", 9, all, func(d analysis.Downtime) stat.Interval { return d.PassedFor })...)
	return doc.Section{ID: "bmwg policy", Tables: []doc.Table{doc.Tabulate("bmwg policy table", cs...)}, Notes: []string{say("From the moment that the steps of the event had ended until the last answer that it should have stopped.")}}
}
