// Package reporttest has the run that the tests of all rooms of reports look at, and the files that they compare with.
package reporttest

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// Part is a section in English.
func Part(d *doc.Document, id string) *doc.Section {
	d = d.In(nil)
	for i := range d.Sections {
		if d.Sections[i].ID == id {
			return &d.Sections[i]
		}
	}
	return nil
}

// JustPart is a document with one section.
func JustPart(d *doc.Document, id string) *doc.Document {
	one := slices.DeleteFunc(slices.Clone(d.Sections), func(s doc.Section) bool { return s.ID != id })
	return &doc.Document{Sections: one, Networks: d.Networks, Baseline: d.Baseline}
}

// sentence finds three English words in a row.
var sentence3 = regexp.MustCompile(`\b[A-Za-z]?[a-z]{2,}(?: [a-z]{2,}){2,}`)

// spared are what a Chinese report leaves in English: what the user wrote, commands, and warnings that trials store.
var spared = []*regexp.Regexp{
	regexp.MustCompile("(?m)^    .*$"),                                   // verbatim
	regexp.MustCompile(`weir [a-z]+ --?[a-z][^，。；)）]*|weir run [a-z-]+`), // a command
	regexp.MustCompile(`results\.jsonl: line .*`),                        // what could not be read
	// what the fixture's trials stored
	regexp.MustCompile(`the study was interrupted before this trial|the clock of the client stood still for|[^|。]*as fast as they can be sent|[^|。]*and the time to each response`),
	regexp.MustCompile(`raw/\S+|docs/\S+|go tool pprof|/proc/\S+`),
}

// notChinese are sentences that a test has named: many documents have them.
var notChinese sync.Map

// Chinese fails if a document in Chinese has English sentences.
func Chinese(t testing.TB, d *doc.Document) {
	t.Helper()
	was := d.Lang
	defer func() { d.Lang = was }()
	d.Lang = lang.Draft
	var b bytes.Buffer
	if err := render.Markdown(&b, d); err != nil {
		t.Fatal(err)
	}
	s := b.String()
	for _, r := range spared {
		s = r.ReplaceAllString(s, "")
	}
	allowed := append([]string{doc.English(d.Question), d.Title}, d.Warnings...)
	switch a := d.Analysis.(type) { // what the study says
	case *analysis.Run:
		for _, c := range a.Contrasts {
			allowed = append(allowed, c.Text)
		}
	case *analysis.Pooled:
		for _, c := range a.Contrasts {
			allowed = append(allowed, c.Text)
		}
	}
	for _, a := range allowed {
		if a != "" && !lang.Text(a).Marked() {
			s = regexp.MustCompile("(?i)"+regexp.QuoteMeta(foreign.Markdown(a))).ReplaceAllString(s, "")
		}
	}
	left := sentence3.FindAllString(s, -1)
	slices.Sort(left)
	for _, s := range slices.Compact(left) {
		if _, said := notChinese.LoadOrStore(s, true); !said {
			t.Errorf("not Chinese: %q: say it with lang.T; `go test ./internal/lang` names what the catalog lacks", s)
		}
	}
	if strings.ContainsFunc(s, lang.Mark) {
		t.Error("a mark is left in the text")
	}
}

// Analyzed is the account of a run, again the account of one that has changed.
func Analyzed(r *account.Account) *account.Account {
	if r.Analysis != nil {
		return r
	}
	return Again(r)
}

func Again(r *account.Account) *account.Account {
	a := account.Of(r.Contents)
	a.Claims = r.Claims
	return a
}

// Round leaves five digits.
func Round(v float64) float64 {
	if v == 0 {
		return 0
	}
	p := math.Pow(10, 5-math.Ceil(math.Log10(math.Abs(v))))
	return math.Round(v*p) / p
}

// load reads the results of the fixture.
func load(t testing.TB) []record.Result {
	t.Helper()
	f, err := os.Open(fixture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []record.Result
	for d := json.NewDecoder(f); d.More(); {
		var r record.Result
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// Run returns the synthetic run as read from a results directory.
func Run(t testing.TB) *account.Account {
	t.Helper()
	src, err := os.ReadFile("../testdata/study.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := study.Load(src, "study.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return &account.Account{Contents: account.Contents{
		Name: "udp-vs-tcp (synthetic)", Question: "Why is UDP so much slower than TCP on the overlay? These numbers are synthetic: nobody measured them.",
		Study: src, Spec: spec, Words: Words, Results: load(t), Options: analysis.Options{Baseline: "host",
			Networks: []string{"host", "bridge", "vxlan-overlay"}, Probes: []string{"tcp-stream", "udp-stream", "udp-rate", "udp-rr"}},
		Hosts:   map[string][]byte{"bench-1": []byte(`{"kernel":"6.12.9","cpu":"Example 3 GHz","cpus":8,"arch":"amd64","os":"Example Linux 1","sysctl":{"net.core.rmem_max":"212992","net.ipv4.tcp_congestion_control":"cubic"},"tools":{"iperf3":"3.18","ping":"20240905"}}`)},
		Command: []string{"weir", "run", account.StudyFile},
		Seed:    "20240607", Dir: "results/2024-06-07-udp-vs-tcp",
		Problems: []lang.Text{"results.jsonl: line 145 is cut off: the run was killed while it was written"},
	}, Claims: Outcomes()}
}

var Words = map[string]probe.Info{
	"tcp-stream": {Title: "TCP stream", Short: "TCP", Method: "One TCP connection sends as fast as it can. weir counts what arrived."},
	"udp-stream": {Title: "UDP stream", Short: "UDP", Method: "Datagrams of one size, as fast as they can be sent."},
	"udp-rate":   {Title: "UDP packet rate", Short: "UDP packet rate", Method: "Small datagrams, as fast as they can be sent."},
	"udp-rr":     {Title: "UDP request/response", Short: "UDP response time", Method: "Requests, one at a time, and the time to each response."},
}

// fixture is read from below a room of reports.
const fixture = "../testdata/results.jsonl"

// Outcomes returns synthetic outcomes, one of every verdict.
func Outcomes() []claim.Outcome {
	cell := func(network, probe string) claim.Cell { return claim.Cell{Network: network, Probe: probe} }
	host := cell("host", "udp-stream")
	between := func(least, most, published float64) claim.Test {
		return claim.Test{Of: cell("vxlan-overlay", "udp-stream"), To: &host, Ratio: claim.Figure{Value: published}, Least: least, Most: most}
	}
	measured := func(v claim.Verdict, center, lo, hi float64, warnings ...lang.Text) claim.Measure {
		return claim.Measure{Verdict: v, Ratio: stat.Interval{Center: center, Lo: lo, Hi: hi, Confidence: 0.95, N: 8, Warnings: warnings}}
	}
	double := between(0, 0.95, 0)
	double.Per = &claim.Pair{Of: cell("vxlan-overlay", "tcp-stream"), To: cell("host", "tcp-stream")}
	text := func(id string, tests ...claim.Test) claim.Claim {
		return claim.Claim{ID: id, Text: "Somebody claims " + id + ".", Note: "A veth is no NIC.", Tests: tests}
	}
	return []claim.Outcome{
		{Claim: text("overlay-halves-udp", between(0.25, 0.71, 0.5)), Verdict: claim.Holds, Measured: []claim.Measure{measured(claim.Holds, 0.47, 0.45, 0.49)}, From: "a", Runs: 1},
		{Claim: text("overlay-order", between(0, 1, 0), between(0.9, 1.1, 0.985)), Verdict: claim.Fails,
			Measured: []claim.Measure{measured(claim.Holds, 0.47, 0.45, 0.49), measured(claim.Fails, 0.47, 0.455, 0.482, "ratios of 0 count as the smallest: 1 of 8")}, From: "a", Runs: 1},
		{Claim: text("udp-loses-more-than-tcp", double), Verdict: claim.Undecided, Why: "about 34 more blocks would decide",
			Measured: []claim.Measure{measured(claim.Undecided, 0.93, 0.85, 1.02)}, From: "a", Runs: 1},
		{Claim: text("no-interval", between(1, 0, 0)), Verdict: claim.Undecided, Why: "about 4 more blocks would decide",
			Measured: []claim.Measure{{Verdict: claim.Undecided, Ratio: stat.Interval{Center: 1.2, N: 2}}}, From: "a", Runs: 1},
		text("calico-30", between(0.49, 0.84, 0.7)).Cannot(`this version has no network "calico"`),
		text("canal-as-flannel", between(0.95, 1.05, 0)).Cannot(`this version has no network "calico"`),
	}
}

// Text is a document as a terminal of 100 columns shows it.
func Text(t testing.TB, d *doc.Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := render.Text(&b, d, 100); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
