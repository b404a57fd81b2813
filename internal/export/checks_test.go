package export

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/stat"
)

func junit(t *testing.T, suite string, cases []Case) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := JUnit(&b, suite, cases); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// every is a case of each state.
func every(text string) []Case {
	return []Case{{"weir.compare", "a" + text, Passed, "", text}, {"weir.compare", "b" + text, Failed, text, text},
		{"weir.compare", "c" + text, Errored, text, ""}, {"weir.compare", "d" + text, Skipped, text, text}}
}

func outcomes() []claim.Outcome {
	of := func(id string, v claim.Verdict, i stat.Interval) claim.Outcome {
		t := claim.Test{Of: claim.Cell{Network: "overlay", Probe: "tcp-stream"}, To: &claim.Cell{Network: "host", Probe: "tcp-stream"}, Ratio: claim.Figure{Value: 0.5}, Least: 0.4, Most: 0.6}
		return claim.Outcome{Claim: claim.Claim{ID: id, Text: "An overlay halves TCP.", Note: "A veth is no NIC.", Tests: []claim.Test{t}}, Verdict: v,
			Measured: []claim.Measure{{Ratio: i, Verdict: v}}, Runs: 1, From: "results"}
	}
	i := stat.Interval{Center: 0.5, Lo: 0.45, Hi: 0.55, Confidence: 0.95, N: 8}
	open := of("open", claim.Undecided, stat.Interval{Center: 0.41, Lo: 0.3, Hi: 0.5, Confidence: 0.95, N: 8})
	open.Why = "about 20 more blocks would decide"
	again := of("halves", claim.Holds, i)
	again.From = "other"
	return []claim.Outcome{of("halves", claim.Holds, i), again, of("refuted", claim.Fails, stat.Interval{Center: 0.9, Lo: 0.85, Hi: 0.95, Confidence: 0.95, N: 8}), open,
		open.Claim.Cannot(`this version has no network "cilium"`)}
}

// states maps the names of cases to their states and reasons.
func states(cases []Case) map[string]string {
	out := map[string]string{}
	for _, c := range cases {
		out[c.Name] = []string{"passed", "failed", "errored", "skipped"}[c.State] + " " + c.Why
	}
	return out
}

func TestChanges(t *testing.T) {
	c := comparison()
	cases := Changes(c)
	got := states(cases)
	for name, want := range map[string]string{
		"overlay, tcp-stream": "failed worse by more than 5 %: B ÷ A is 0.6",
		"overlay, tcp-rr":     "passed ",
		"removed, tcp-rr":     "skipped not compared: only in A",
		"added, tcp-stream":   "skipped not compared: only in B",
	} {
		if !strings.HasPrefix(got[name], want) {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	golden(t, "compare.xml", junit(t, "weir compare", cases))
	var b bytes.Buffer
	if err := Annotations(&b, "weir compare", cases); err != nil {
		t.Fatal(err)
	}
	golden(t, "compare.annotations.txt", b.Bytes())
	failed := 0
	for _, x := range cases {
		if x.State == Failed {
			failed++
		}
	}
	if (failed > 0) != c.Worse() {
		t.Error("cases fail, and the comparison does not, or the other way round")
	}

	one := analysis.Compare([]*analysis.Run{made(1, "third", unchanged).Analysis}, []*analysis.Run{made(2, "third", unchanged).Analysis}, 0)
	if got := states(Changes(one))["overlay, tcp-stream"]; !strings.HasPrefix(got, "skipped cannot tell: one run a side") || !strings.Contains(got, "runs a side would show") {
		t.Errorf("one run a side: %q", got)
	}
	var before, after []*analysis.Run
	for n := range 3 {
		noise := 1 + 0.3*float64(n)
		noisy := func(network, _ string) float64 { return map[bool]float64{true: noise, false: 1}[network == "overlay"] }
		before, after = append(before, made(n, "third", noisy).Analysis), append(after, made(n+3, "third", noisy).Analysis)
	}
	if got := states(Changes(analysis.Compare(before, after, 0.05)))["overlay, tcp-stream"]; !strings.HasPrefix(got, "skipped cannot tell: these runs would not have shown a change below ") {
		t.Errorf("runs that differ by 30 %%: %q", got)
	}
	none := made(1, "third", unchanged)
	none.Analysis = analysis.New(nil, analysis.Options{})
	if got := Changes(analysis.Compare([]*analysis.Run{none.Analysis}, []*analysis.Run{none.Analysis}, 0)); len(got) != 1 || got[0].State != Skipped {
		t.Errorf("nothing to compare: %+v", got)
	}
}

// A network that works before the change only is broken, not skipped.
func TestChangesOfABrokenNetwork(t *testing.T) {
	before, after := made(1, "third", unchanged), brokenOverlay()
	got := states(Changes(analysis.Compare([]*analysis.Run{before.Analysis}, []*analysis.Run{after}, 0)))
	if got["overlay, tcp-rr"] != "errored not compared: no ok trial, in B" {
		t.Errorf("broken afterwards: %q", got["overlay, tcp-rr"])
	}
	got = states(Changes(analysis.Compare([]*analysis.Run{after}, []*analysis.Run{before.Analysis}, 0)))
	if got["overlay, tcp-rr"] != "skipped not compared: no ok trial, in A" {
		t.Errorf("broken before: %q", got["overlay, tcp-rr"])
	}
}

func TestClaims(t *testing.T) {
	cases := Claims(outcomes())
	got := states(cases)
	for name, want := range map[string]string{"halves in results": "passed ", "halves in other": "passed ", "refuted": "failed does not hold: An overlay halves TCP.",
		"open in results": "skipped undecided: about 20 more blocks would decide", "open": `skipped cannot be tested here: this version has no network "cilium"`} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	golden(t, "claims.xml", junit(t, "weir reproduce", cases))
}

// xmllint accepts what JUnit writes, whatever the names are.
func TestJUnitSchema(t *testing.T) {
	xmllint := consumer(t, "xmllint", "apt install libxml2-utils")
	for name, b := range map[string][]byte{
		"compare":   junit(t, "weir compare", Changes(comparison())),
		"reproduce": junit(t, "weir reproduce", Claims(outcomes())),
		"every":     junit(t, "weir doctor", every("")),
		"hostile":   junit(t, "weir doctor", every(hostile)),
	} {
		file := filepath.Join(t.TempDir(), name+".xml")
		if err := os.WriteFile(file, b, 0o666); err != nil {
			t.Fatal(err)
		}
		read(t, nil, xmllint, "--noout", "--schema", "testdata/junit.xsd", file)
		if name != "hostile" {
			continue
		}
		if strings.ContainsAny(string(b), "\x1b\x7f\u202e") {
			t.Errorf("what a terminal obeys, or a reader sees reversed:\n%s", b)
		}
		// What XML can hold comes back as it was.
		for path, want := range map[string]string{"count(//failure)": "1", "count(//error)": "1", "count(//skipped)": "1", "string(//testsuite/@tests)": "4",
			"contains(//failure/@message, '<e>&]]>')": "true", "contains(//system-out, '::error::x%0A,:')": "true"} {
			if got := strings.TrimSpace(read(t, nil, xmllint, "--xpath", path, file)); got != want {
				t.Errorf("%s: %q, want %q", path, got, want)
			}
		}
	}
}

// No name or text can end a command or begin another one, and each kind is cut where GitHub cuts it.
func TestAnnotations(t *testing.T) {
	var b bytes.Buffer
	if err := Annotations(&b, hostile, every(hostile)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d commands, want two errors and a warning:\n%s", len(lines), b.String())
	}
	for i, kind := range []string{"error", "error", "warning"} {
		head, data, ok := strings.Cut(strings.TrimPrefix(lines[i], "::"+kind+" title="), "::")
		if !ok || !strings.HasPrefix(lines[i], "::"+kind+" title=") || strings.ContainsAny(head, ",:\r") || strings.Contains(data, "\r") {
			t.Errorf("not one command: %q", lines[i])
		}
		unescape := strings.NewReplacer("%25", "%", "%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",")
		if got, want := unescape.Replace(head), string("bcd"[i])+foreign.Text(hostile); got != want {
			t.Errorf("title %q, want %q", got, want)
		}
	}
	b.Reset()
	var many []Case
	for range 25 {
		many = append(many, Case{Name: "x", State: Failed, Why: "y"})
	}
	if err := Annotations(&b, "weir compare", many); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "::error "); n != mostAnnotations || !strings.Contains(b.String(), "::error title=weir compare::and 16 more\n") {
		t.Errorf("%d annotations of 25:\n%s", n, b.String())
	}
}

// The consumer's type BenchmarkResult (github-action-benchmark, src/extract.ts).
const benchmarkResults = `{"type":"array","items":{"type":"object","required":["name","value","unit"],"additionalProperties":false,
	"properties":{"name":{"type":"string","minLength":1},"value":{"type":"number"},"unit":{"type":"string","minLength":1},"range":{"type":"string"},"extra":{"type":"string"}}}}`

func TestBenchmarks(t *testing.T) {
	golden(t, "bigger.json", written(t, BiggerIsBetter, recorded(t)))
	golden(t, "smaller.json", written(t, SmallerIsBetter, recorded(t)))
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(benchmarkResults))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:benchmark-results", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("urn:benchmark-results")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range []*account.Account{recorded(t), hostileRun(t)} {
		for _, b := range [][]byte{written(t, BiggerIsBetter, r), written(t, SmallerIsBetter, r), written(t, SmallerIsBetter, of("", nil, nil, analysis.Options{}))} {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
			if err == nil {
				err = s.Validate(v)
			}
			if err != nil {
				t.Error(err)
			}
			var all []benchmark
			if err := json.Unmarshal(b, &all); err != nil {
				t.Fatal(err)
			}
			for _, x := range all {
				if seen[x.Name] { // the consumer matches entries of two commits by name
					t.Errorf("two entries %q", x.Name)
				}
				seen[x.Name] = true
			}
		}
	}
	if !seen["vxlan-overlay, tcp-stream, network vxlan-overlay ÷ host, throughput"] || !seen["vxlan-overlay, udp-rr, rtt"] {
		t.Errorf("entries %v", seen)
	}
}
