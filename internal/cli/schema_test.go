package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/bisect"
	"github.com/weir-bench/weir/internal/bisect/settings"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/explain"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/packettrace"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/section"
	"github.com/weir-bench/weir/internal/report/several"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/record"
)

var update = flag.Bool("update", false, "rewrite the schemas")

// described is hosts/NAME.json, which the packages that write it put together.
type described struct {
	Weir     string `json:"weir"`               // version of weir
	Rootless bool   `json:"rootless,omitempty"` // started by an ordinary user
	facts.Facts
}

// documents are what weir writes, by the name of the schema.
var documents = map[string]struct {
	title string
	v     any
}{
	"result":    {"A trial: a line of results.jsonl and profiles.jsonl", record.Result{}},
	"host":      {"Facts of a machine: hosts/NAME.json in a results directory", described{}},
	"report":    {"The report of a run or of several: weir report --format json, weir pool --json", doc.Document{}},
	"bisect":    {"A search among commits: weir bisect commits --json, and bisect.json", bisect.Outcome{}},
	"compare":   {"A comparison of runs: weir compare --json", analysis.Comparison{}},
	"settings":  {"Which setting explains a change: weir bisect settings --json, and bisect.json", settings.Result{}},
	"reproduce": {"Published figures and what results say about them: weir reproduce --json", []claim.Outcome{}},
	"explain":   {"What limits each network: weir explain --json", explain.Explanation{}},
	"doctor":    {"What can run on a machine: weir doctor --json", []job.Diagnosis{}},
	"plan":      {"A line of weir plan --json, or with --ssh all of it", oneOf{plan.Step{}, endLine{}, pathLine{}, lineLine{}, expectLine{}, job.MachinesPlan{}}},
	"trace":     {"The paths of packets: weir trace --json", []packettrace.Trace{}},
	"figure":    {"Figures: weir figure FIGURE… --json, and without figures the list of them", oneOf{[]figure.Result{}, []listedFigure{}}},
	"list":      {"Networks, probes, factors, studies or claims: weir list --json", []job.Item{}},
	"version":   {"This program: weir version --json", build{}},
}

// The schemas are those of the types.
func TestSchemas(t *testing.T) {
	for name, d := range documents {
		file := filepath.Join("../../schema", name+".json")
		got, err := json.MarshalIndent(schemaOf(t, name, d.title, d.v, false), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		want, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if *update && !bytes.Equal(got, want) {
			if lost := removed(t, want, got); lost != nil {
				t.Errorf("%s: %s changed, which breaks readers of this version: raise its Format first, and then remove the file", file, strings.Join(lost, ", "))
			} else if err := os.WriteFile(file, got, 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from the types; look at the changes, then run the test with -update", file)
		}
	}
	for _, name := range schemaNames() {
		if _, ok := documents[name]; !ok {
			t.Errorf("schema/%s.json is of no document", name)
		}
	}
}

// removed job.Lists the keys that the new schema lacks, or for which it has another type.
func removed(t *testing.T, old, now []byte) (out []string) {
	if old == nil {
		return nil
	}
	type definitions struct {
		Defs map[string]struct {
			Properties map[string]map[string]any
		} `json:"$defs"`
	}
	var a, b definitions
	if err := errors.Join(json.Unmarshal(old, &a), json.Unmarshal(now, &b)); err != nil {
		t.Fatal(err)
	}
	for def, d := range a.Defs {
		if _, ok := b.Defs[def]; !ok {
			continue // a type of another name; validation finds what matters
		}
		for key, was := range d.Properties {
			is := b.Defs[def].Properties[key]
			if is == nil || fmt.Sprint(was["type"]) != fmt.Sprint(is["type"]) {
				out = append(out, def+"."+key)
			}
		}
	}
	slices.Sort(out)
	return out
}

// A rule for versions that nobody tests is a wish.
func TestRemovedKeysAreFound(t *testing.T) {
	old := `{"$defs":{"a":{"properties":{"x":{"type":"number"},"y":{"type":"string"},"z":{}}}}}`
	for now, want := range map[string]string{
		old: "",
		`{"$defs":{"a":{"properties":{"w":{},"x":{"type":"number"},"y":{"type":"string"},"z":{}}}}}`:    "",
		`{"$defs":{"a":{"properties":{"x":{"type":"integer"},"y":{"type":["string","null"]},"z":{}}}}}`: "a.x a.y",
		`{"$defs":{"a":{"properties":{"x":{"type":"number"}}}}}`:                                        "a.y a.z",
	} {
		if got := strings.Join(removed(t, []byte(old), []byte(now)), " "); got != want {
			t.Errorf("%s: %q, want %q", now, got, want)
		}
	}
}

// validator compiles a schema with a library that is not ours. It refuses keys that the schema lacks, unlike
// the published one.
func validator(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	d := documents[name]
	s := schemaOf(t, name, d.title, d.v, true)
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	url := s["$id"].(string)
	if err := c.AddResource(url, doc); err != nil {
		t.Fatal(err)
	}
	out, err := c.Compile(url)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func validate(t *testing.T, s *jsonschema.Schema, what string, b []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// Every document that weir makes of the recorded runs is valid, and so are the results themselves.
func TestRecordedRunsAreValid(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	valid := map[string]*jsonschema.Schema{}
	for name := range documents {
		valid[name] = validator(t, name)
	}
	encoded := func(v any) []byte {
		var b bytes.Buffer
		if err := printJSON(&b, v); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	shipped, err := claim.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	var all []claim.Outcome
	for name, dir := range recordedRuns(t) {
		rep, err := job.Load(dir, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rep.Results {
			validate(t, valid["result"], name, written(t, r))
		}
		var doc, pooled bytes.Buffer
		two := analysis.Pool([]*analysis.Run{rep.Analysis, rep.Analysis}, 0)
		if err := errors.Join(render.JSON(&doc, section.Report(rep)), render.JSON(&pooled, several.Pooled([]*account.Account{rep, rep}, two))); err != nil {
			t.Fatal(err)
		}
		validate(t, valid["report"], name, doc.Bytes())
		validate(t, valid["report"], name+", pooled", pooled.Bytes())
		c := analysis.Compare([]*analysis.Run{rep.Analysis}, []*analysis.Run{rep.Analysis}, 0.05)
		c.Differ = []facts.Difference{{Key: "local.kernel", Values: []string{"6.12.9", ""}}}
		validate(t, valid["compare"], name, encoded(c))
		_, x := section.Explanation(rep, "", true)
		validate(t, valid["explain"], name, encoded(x))
		all = append(all, rep.Claims...)
	}
	for _, c := range shipped {
		all = append(all, c.Cannot("these results do not test it"))
	}
	validate(t, valid["reproduce"], "claims", encoded(all))
	validate(t, valid["doctor"], "diagnoses", encoded([]job.Diagnosis{{Check: facts.Check{Name: "lab", Detail: "forbidden", Fix: "allow it"}, Needed: true}, {Check: facts.Check{OK: true}}}))
	for name, list := range job.Lists {
		items, err := list()
		if err != nil {
			t.Fatal(err)
		}
		validate(t, valid["list"], name, encoded(items))
	}
	shippedFigures, err := figure.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	var figures []listedFigure
	for _, f := range shippedFigures {
		figures = append(figures, listedFigure{f, f.Study.Name})
	}
	validate(t, valid["figure"], "the list", encoded(figures))
	validate(t, valid["version"], "this program", encoded(buildOf("1.0", buildInfo())))
	b, err := os.ReadFile("../profile/testdata/profiles.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range record.All(bytes.NewReader(b), "profiles.jsonl") {
		if err != nil {
			t.Fatal(err)
		}
		validate(t, valid["result"], "profiles.jsonl", written(t, *r))
	}
}

// written is a recorded result, of this format or of an older one, as weir writes it today.
func written(t *testing.T, r record.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := record.Write(&b, &r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A schema that accepts anything would pass every other test.
func TestSchemasRefuse(t *testing.T) {
	for name, docs := range map[string][]string{
		"result": {`{}`, `[]`, `{"format":1,"trial":"a","block":1,"status":"ok","start":"2026-01-02T03:04:05Z","elapsed":1,"asked":{}}`,
			`{"format":2,"trial":"a","block":1,"status":"ok","start":"2026-01-02T03:04:05Z","elapsed":1,"asked":{},"warnings":["a"]}`,
			`{"format":2,"trial":"a","block":"1","status":"ok","start":"2026-01-02T03:04:05Z","elapsed":1,"asked":{}}`,
			`{"format":2,"trial":"a","block":1,"status":"ok","start":"yesterday","elapsed":1,"asked":{}}`,
			`{"format":2,"trial":"a","block":1,"status":"ok","start":"2026-01-02T03:04:05Z","elapsed":1,"asked":{},"values":[{"name":"x"}]}`},
		"report":    {`{"sections":[]}`, `{"format":1,"sections":[],"analysis":{}}`, `{"format":2,"sections":[{"id":"a"}]}`, `{"format":2,"sections":[],"analysis":{"runs":"two"}}`},
		"compare":   {`{}`, `[]`},
		"reproduce": {`{}`, `[{"claim":{}}]`},
		"explain":   {`{}`, `[]`},
		"settings":  {`{}`, `[]`, `{"before":"a","after":"b","network":"n","probe":"p","settings":null,"unapplied":[],"kind":1,"comparisons":0}`},
		"doctor":    {`{}`, `[{"ok":"yes"}]`},
		"host":      {`{"cpus":"2"}`, `[]`},
		"plan":      {`{}`, `[]`, `{"in":"h1","link":{"name":1}}`, `{"end":{}}`, `{"path":1450}`, `{"between":"Pod-Host"}`, `{"line":"h1"}`, `{"expect":{}}`, `{"ssh":"a"}`},
		"trace":     {`{}`, `[{}]`},
		"figure":    {`{}`, `[{}]`, `[{"id":14}]`},
	} {
		s := validator(t, name)
		for _, d := range docs {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(d))
			if err != nil {
				t.Fatal(err)
			}
			if s.Validate(v) == nil {
				t.Errorf("%s accepts %s", name, d)
			}
		}
	}
}

// recordedRuns returns results directories with all recorded runs of the tree, by name.
func recordedRuns(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	add := func(name string, study, results []byte) {
		dir := filepath.Join(t.TempDir(), name)
		err := errors.Join(os.Mkdir(dir, 0o777), os.WriteFile(filepath.Join(dir, "study.yaml"), study, 0o666),
			store.WriteFile(filepath.Join(dir, "results.jsonl"), results))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = dir
	}
	read := func(file string) []byte {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(b))
			if err == nil {
				b, err = io.ReadAll(z)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return b
	}
	runs, err := filepath.Glob("../analysis/testdata/runs/*.jsonl.gz")
	if err != nil || len(runs) == 0 {
		t.Fatalf("no recorded runs: %v", err)
	}
	for _, file := range runs {
		base := strings.TrimSuffix(file, ".jsonl.gz")
		add(filepath.Base(base), read(base+".yaml"), read(file))
	}
	add("synthetic", read("../report/testdata/study.yaml"), read("../report/testdata/results.jsonl"))
	add("overtime", read("../report/testdata/study.yaml"), read("../report/testdata/overtime.jsonl.gz"))
	if n := len(slices.Collect(maps.Keys(out))); n < 10 {
		t.Fatalf("only %d recorded runs", n)
	}
	return out
}
