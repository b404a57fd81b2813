package several

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/record"
)

// groups returns the runs of repeated, each as a directory of its own or, with per, several in one.
func asGroups(runs []*account.Account, per int) [][]*account.Account {
	return slices.Collect(slices.Chunk(runs, per))
}

// later moves a run in time.
func later(r *account.Account, by time.Duration) *account.Account {
	var rs []record.Result
	for _, x := range r.Results {
		x.Start = x.Start.Add(by)
		rs = append(rs, x)
	}
	c := r.Contents
	c.Results = rs
	return account.Of(c)
}

// versioned is a run whose trials found a version of flannel.
func versioned(r *account.Account, version string) *account.Account {
	c := r.Contents
	c.Results = slices.Clone(r.Results)
	for i := range c.Results {
		x := &c.Results[i]
		x.Values, x.Observed = slices.Clone(x.Values), maps.Clone(x.Observed)
		if x.Observed != nil {
			x.Observed["flannel.version"] = version
		}
	}
	return account.Of(c)
}

func everyMedium(t *testing.T, d *doc.Document) map[string]string {
	t.Helper()
	reporttest.Chinese(t, d)
	out := map[string]string{}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"html": func(b *bytes.Buffer) error { return render.HTML(b, d) },
		"md":   func(b *bytes.Buffer) error { return render.Markdown(b, d) },
		"txt":  func(b *bytes.Buffer) error { return render.Text(b, d, 100) },
		"json": func(b *bytes.Buffer) error { return render.JSON(b, d) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "not drawn") {
			t.Errorf("%s: a chart was not drawn", name)
		}
		out[name] = b.String()
	}
	return out
}

// More than two runs of one machine are a series, in the order of time whatever the order of the arguments.
func TestSeriesOverTime(t *testing.T) {
	runs := repeated(t)
	runs[4] = later(runs[4], 20*24*time.Hour)
	runs[0], runs[3] = runs[3], runs[0]
	d := Together(asGroups(runs, 1))
	if d == nil {
		t.Fatal("the runs have nothing in common")
	}
	out := everyMedium(t, d)
	reporttest.Golden(t, "together-series.md", []byte(out["md"]))
	for _, want := range []string{"Series over time: more than two runs of Example 3 GHz (8 CPUs)", "003 to 004: kernel 6.12.9 → 6.12.10", "004 to 005: kernel 6.12.10 → 6.12.9"} {
		if !strings.Contains(out["md"], want) {
			t.Errorf("Markdown lacks %q", want)
		}
	}
	charts := 0
	for _, f := range d.Figures() {
		svg, err := f.Chart.SVG()
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(f.ID, "lanes") {
			charts++
			for _, want := range []string{">Jun 7<", ">Jun 27<", ">a<", ">b<"} {
				if !strings.Contains(svg, want) {
					t.Errorf("%s lacks %q", f.ID, want)
				}
			}
		}
	}
	if charts != 4 {
		t.Errorf("%d charts of probes, want 4", charts)
	}
}

// The drafts' tables are of one run: pages about several say so, those of the drafts' studies unasked.
func TestDraftsOfSeveral(t *testing.T) {
	for study, whole := range map[string]int{"example": 0, "bmwg-latency": 1} {
		runs := repeated(t)
		for i := range runs {
			runs[i].Name = study
		}
		for _, d := range []*doc.Document{pooledDocument(runs), Together(asGroups(runs, 1))} {
			const want = "weir report DIR --section bmwg"
			if got := strings.Count(everyMedium(t, d)["md"], want); got != whole {
				t.Errorf("%s: %d sentences about the drafts, want %d", study, got, whole)
			}
			if !d.Only("bmwg") || !strings.Contains(everyMedium(t, d)["txt"], "of one run") {
				t.Errorf("%s: --section bmwg says nothing", study)
			}
		}
	}
}

// Two groups of one machine are before and after, the earlier one first, with the verdict of a comparison.
func TestBeforeAfter(t *testing.T) {
	var before, after []*account.Account
	for i, r := range repeated(t) {
		r.Dir = "old/" + string(rune('1'+i))
		before = append(before, versioned(r, "v0.28.4"))
		r.Dir = "new/" + string(rune('1'+i))
		r = versioned(r, "v0.29.0")
		for _, x := range r.Results {
			if x.Config["network"] == "vxlan-overlay" && x.Config["probe"] == "tcp-stream" {
				for k := range x.Values {
					x.Values[k].Value *= 0.5
				}
			}
		}
		after = append(after, later(r, 48*time.Hour))
	}
	groups := append(asGroups(after, 5), asGroups(before, 5)...)
	d := Together(groups)
	out := everyMedium(t, d)
	reporttest.Golden(t, "together-before.md", []byte(out["md"]))
	for _, want := range []string{"Before and after: ", "WORSE", "worse: TCP 0.65× → 0.32× (0.50×", "| flannel.version | v0.28.4 | v0.29.0 |", "| before (A) | after (B) |"} {
		if !strings.Contains(out["md"], want) {
			t.Errorf("Markdown lacks %q", want)
		}
	}
	if !strings.Contains(out["json"], `"worse": true`) {
		t.Error("JSON lacks the verdict")
	}
}

// Runs of different machines stand side by side, those of one machine in one column.
func TestMachinesSideBySide(t *testing.T) {
	groups := asGroups(repeated(t), 1)
	for _, g := range groups[3:] {
		g[0].Hosts = map[string][]byte{"bench-1": []byte(`{"kernel":"6.1.0","cpu":"Other(R) CPU @ 2 GHz","cpus":64}`)}
	}
	d := Together(groups)
	out := everyMedium(t, d)
	reporttest.Golden(t, "together-machines.md", []byte(out["md"]))
	for _, want := range []string{"Machines side by side: the runs are of Example 3 GHz (8 CPUs) and Other @ 2 GHz (64 CPUs)", "| kernel | 6.12.9 | 6.1.0 |"} {
		if !strings.Contains(out["md"], want) {
			t.Errorf("Markdown lacks %q", want)
		}
	}
	row := ""
	for _, l := range strings.Split(out["md"], "\n") {
		if strings.HasPrefix(l, "| vxlan-overlay, TCP |") && strings.Count(l, "×") == 2 {
			row = l
		}
	}
	if row == "" || strings.Count(row, "[") != 2 {
		t.Errorf("no row with a ratio and an interval for each machine: %q", row)
	}
}

// The first sentence about a run and its repetition says what of it holds, and names what does not.
func TestWhatHolds(t *testing.T) {
	times := func(r *account.Account, network, probe string, by float64) *account.Account {
		for _, x := range r.Results {
			if x.Config["network"] == network && x.Config["probe"] == probe && len(x.Values) > 0 {
				x.Values[0].Value *= by
			}
		}
		return reporttest.Again(r)
	}
	for name, c := range map[string]struct {
		by   float64
		cpu  string
		want string
	}{
		"the same":     {1, "Example 3 GHz", "What holds: 6 of 8 ratios lie on the same side of 1 each time, with their whole intervals; not told apart from 1 at least once: 2 (bridge, TCP; bridge, UDP packet rate). Before and after"},
		"two machines": {1, "Other", "bridge, UDP packet rate). Machines side by side"},
		"opposite":     {3, "Other", "What holds: 5 of 8 ratios lie on the same side of 1 each time, with their whole intervals; on opposite sides: 1 (vxlan-overlay, UDP); not told"},
		"open":         {2.09, "Other", "at least once: 3 (bridge, TCP; vxlan-overlay, UDP; bridge, UDP packet rate)."},
	} {
		first, again := reporttest.Again(reporttest.Run(t)), reporttest.Run(t)
		again = later(times(again, "vxlan-overlay", "udp-stream", c.by), time.Hour)
		again.Hosts = map[string][]byte{"bench-1": []byte(`{"kernel":"6.12.9","cpu":"` + c.cpu + `","cpus":8}`)}
		d := Together([][]*account.Account{{first}, {again}})
		answer := reporttest.Part(d, "answer")
		if !strings.Contains(answer.About, c.want) {
			t.Errorf("%s: %q lacks %q", name, answer.About, c.want)
		}
		reporttest.Chinese(t, d)
	}
}

// Runs without a cell in common have no page.
func TestNothingInCommon(t *testing.T) {
	runs := repeated(t)[:2]
	var rs []record.Result
	for _, x := range runs[0].Results {
		if x.Config["probe"] == "udp-rr" {
			rs = append(rs, x)
		}
	}
	runs[0].Results = rs
	rs = nil
	for _, x := range runs[1].Results {
		if x.Config["probe"] != "udp-rr" {
			rs = append(rs, x)
		}
	}
	runs[1].Results = rs
	runs[0] = reporttest.Again(runs[0])
	runs[1] = reporttest.Again(runs[1])
	if d := Together(asGroups(runs, 1)); d != nil {
		t.Errorf("a page: %s", d.Census)
	}
}

// The facts that explain most come first, and what several hosts have in common is said once.
func TestDifferences(t *testing.T) {
	a := map[string][]byte{"n1": []byte(`{"kernel":"1","weir":"a","mitigations":{"x":"on"},"settings":{}}`), "n2": []byte(`{"kernel":"1","settings":{}}`),
		"study": []byte(`{"duration":"1s"}`), "found": []byte(`{"cluster.cni":"calico 3.1"}`)}
	b := map[string][]byte{"n1": []byte(`{"kernel":"2","weir":"b","mitigations":{"x":"off"},"settings":{"tso":{"value":"off"}}}`), "n2": []byte(`{"kernel":"2","settings":{}}`),
		"study": []byte(`{"duration":"2s"}`), "found": []byte(`{"cluster.cni":"calico 3.2"}`)}
	var got []string
	for _, c := range differences([]map[string][]byte{a, b}) {
		got = append(got, c.String())
	}
	want := "kernel 1 → 2; weir a → b; cluster.cni calico 3.1 → calico 3.2; tso default → off; study.duration 1s → 2s; mitigations.x on → off"
	if strings.Join(got, "; ") != want {
		t.Errorf("differences: %s\nwant: %s", strings.Join(got, "; "), want)
	}
	for n, want := range map[int]string{0: "a", 25: "z", 26: "aa", 27: "ab", 52: "ba"} {
		if got := letters(n); got != want {
			t.Errorf("letter %d: %s, want %s", n, got, want)
		}
	}
}

func TestProcessor(t *testing.T) {
	for want, f := range map[string]facts.Facts{
		"Intel Xeon @ 2.20GHz (4 CPUs)":       {CPU: "Intel(R) Xeon(R) CPU @ 2.20GHz", CPUs: 4},
		"AMD EPYC 7763 (1 CPU)":               {CPU: "AMD EPYC 7763 64-Core Processor", CPUs: 1},
		"machine (2 CPUs in qemu-tcg)":        {CPUs: 2, Guest: "qemu-tcg"},
		"Example 3 GHz (8 CPUs)":              {CPU: "Example  3 GHz", CPUs: 8, Product: "unnamed"},
		"implementer 0x41 part 0xd0c (1 CPU)": {CPU: "implementer 0x41 part 0xd0c", CPUs: 1},
	} {
		if got := doc.English(processor(f)); got != want {
			t.Errorf("%+v is %q, want %q", f, got, want)
		}
	}
}

// Hostile names are text, and links stay below the index.
func TestIndex(t *testing.T) {
	runs := repeated(t)
	named := func(dir string, reported bool, runs ...*account.Account) Indexed {
		x := Entry(runs)
		x.Dir, x.Reported = dir, reported
		return x
	}
	broken := Indexed{Dir: "half\n<b>", Problem: "study.yaml: line 1: <script>"}
	d := Index("all <i>", []Indexed{named("javascript:alert(1)", true, runs[0]), named(`q"?#%<script>alert(1)</script>`, true, later(runs[1], time.Hour)),
		named("series", true, runs...), named("none", false, runs[2]), broken})
	var b bytes.Buffer
	if err := render.HTML(&b, d); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{`href="javascript%3Aalert%281%29/report.html"`, "%3Cscript%3E", "Runs in all &lt;i&gt;", "half\uFFFD&lt;b&gt;", "8 runs; incomplete or broken: 1"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for _, not := range []string{"<script>alert", `href="javascript:`, "<b>\n"} {
		if strings.Contains(page, not) {
			t.Errorf("the page has %s", not)
		}
	}
	rows := d.In(nil).Sections[0].Tables[0].Rows
	var order []string
	for _, r := range rows {
		order = append(order, r.Cells[0].Text)
	}
	if got := strings.Join(order, " "); got != `q"?#%<script>alert(1)</script> none javascript:alert(1) series` {
		t.Errorf("order %s", got)
	}
	if rows[1].Cells[0].Link != "" || rows[0].Cells[0].Link == "" {
		t.Error("the link is not that of a report that exists")
	}
	if d := Index("empty", nil).In(nil); d.Sections[0].About != "No complete run." || len(d.Sections) != 1 {
		t.Errorf("empty index: %+v", d)
	}
}
