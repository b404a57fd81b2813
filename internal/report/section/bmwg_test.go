package section

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// Every run can be read in the drafts' terms, and only those of their own studies show it unasked.
func TestDrafts(t *testing.T) {
	r := reporttest.Run(t)
	d := Report(reporttest.Analyzed(r))
	shown := func(d *doc.Document) bool {
		return slices.ContainsFunc(doc.Visible(d.Sections, doc.Page), func(s doc.Section) bool { return s.ID == "bmwg" })
	}
	if shown(d) {
		t.Error("the page of a run about something else shows it")
	}
	if !d.Only("bmwg") || !shown(d) {
		t.Fatal("it is not there for those who ask")
	}
	reporttest.Chinese(t, d)
	text := reporttest.Text(t, d)
	for _, want := range []string{"UDP_RR, udp-rr", "p95", "Jitter", "Packet loss rate", "vxlan-overlay 1450", "One-way latency", "not by this run: weir run bmwg-throughput", "none: weir built the networks",
		"6.12.9", "not recorded", "1 run of 12 blocks in random order"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "weir run bmwg-latency") {
		t.Error("response times are missing, and were measured")
	}
	r = reporttest.Run(t)
	r.Name = draftStudies + "mine"
	if !shown(Report(reporttest.Again(r))) {
		t.Error("a study in the drafts' terms does not show it")
	}
}

// Whether the ends had CPUs of their own is what the trials recorded.
func TestDraftPinning(t *testing.T) {
	for want, cpus := range map[string][2][]int{"client and server each have CPUs of their own": {{0}, {1}}, "none: the ends can use": {{0, 1}, {1}}} {
		r := reporttest.Run(t)
		r.Evidence = map[string]*evidence.Trial{}
		for _, x := range r.Results {
			r.Evidence[x.Trial] = &evidence.Trial{Sender: evidence.End{Host: "x", CPUs: cpus[0]}, Receiver: evidence.End{Host: "x", CPUs: cpus[1]}}
		}
		d := Report(reporttest.Again(r))
		if !d.Only("bmwg") || !strings.Contains(reporttest.Text(t, d), want) {
			t.Errorf("%v: no %q", cpus, want)
		}
	}
}

// searchRun is a run of a search for two goals, the second of which every third trial has no result for.
func searchRun(t *testing.T, name string) *doc.Document {
	t.Helper()
	spec, err := study.Load([]byte("name: "+name+"\nnetworks: [host, bridge]\nprobes: [{use: udp-capacity, goals: [0, 0.5%]}]\n"), "study.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := reporttest.Run(t)
	r.Name, r.Spec, r.Results = spec.Name, spec, nil
	for block := 1; block <= 9; block++ {
		for i, network := range []string{"host", "bridge"} {
			x := record.Result{Format: record.Format, Trial: fmt.Sprintf("b%d-%s", block, network), Block: block, Status: record.OK,
				Config: map[string]string{"network": network, "probe": "udp-capacity"}, Observed: record.Observed{"capacity": "NDR"},
				Values: []record.Value{record.Capacity.Whole().Value("packet/s", 3e5/float64(1+i)), record.Loss.Whole().Value("1", 0.001)}}
			for g, goal := range []string{"0%", "0.5%"} {
				if rate := 2e5 + 1e5*float64(g) + float64(1000*block); g == 0 || block%3 > 0 {
					x.Values = append(x.Values, record.ThroughputAt.Goal(goal).Value("packet/s", rate), record.BoundLower.Goal(goal).Value("packet/s", rate+1))
				}
			}
			r.Results = append(r.Results, x)
		}
	}
	r.Options = analysis.Options{Baseline: "host", Networks: []string{"host", "bridge"}}
	return Report(reporttest.Again(r))
}

// A goal has its own row, with how many searches found it. The loss of a search is no loss of a path.
func TestDraftGoals(t *testing.T) {
	d := searchRun(t, draftStudies+"mine")
	d.Only("bmwg")
	text := reporttest.Text(t, d)
	for _, want := range []string{"conditional", "0.5%", "6/9", "9/9", "ran out of time", "RFC 2544"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	part := reporttest.Part(d, "bmwg")
	for _, p := range part.Parts {
		if p.ID == "bmwg-loss" {
			t.Error("the loss of a search is listed as the path's")
		}
		if p.ID == "bmwg-search" {
			if rows := p.Tables[0].Rows; len(rows) != 4 {
				t.Errorf("%d rows for two goals of two networks", len(rows))
			}
		}
	}
	reporttest.Chinese(t, d)
	plain := searchRun(t, "mine")
	if part := reporttest.Part(plain, "goals"); part == nil || len(part.Tables[0].Rows) != 4 {
		t.Error("the report of a study with another name has no goals")
	}
}
