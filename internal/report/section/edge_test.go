package section

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/record"
)

const hostile = `<script>alert(1)</script>|"'&{{.}}` + "\x1b[31m\n`rm`*_\u202e\x7f"

// edges are unusual runs, and text that their report must contain.
var edges = []struct {
	name string
	edit func(*account.Account)
	says string // in the text
}{
	{"nothing", func(r *account.Account) { *r = *account.Of(account.Contents{}) }, "no trials"},
	{"no ok trial", func(r *account.Account) {
		for i := range r.Results {
			r.Results[i].Status, r.Results[i].Reason = record.Failed, "the client died"
		}
	}, "no trial is ok"},
	{"one block", func(r *account.Account) {
		r.Results = slices.DeleteFunc(r.Results, func(x record.Result) bool { return x.Block > 1 })
	}, "need at least 9 blocks"},
	{"no baseline in the results", func(r *account.Account) {
		r.Results = slices.DeleteFunc(r.Results, func(x record.Result) bool { return x.Config["network"] == "host" })
	}, `no trial of the baseline "host"`},
	{"no baseline named", func(r *account.Account) { r.Baseline = "" }, "names no baseline"},
	{"only the baseline", func(r *account.Account) {
		r.Results = slices.DeleteFunc(r.Results, func(x record.Result) bool { return x.Config["network"] != "host" })
	}, `"host" is the only network`},
	{"one machine", func(*account.Account) {}, "not network throughput"},
	{"twelve networks", func(r *account.Account) {
		for _, x := range slices.Clone(r.Results) {
			for i := 1; i <= 9; i++ {
				if x.Config["network"] == "bridge" {
					y := x
					y.Trial, y.Config = fmt.Sprintf("%s-%d", x.Trial, i), map[string]string{"network": fmt.Sprintf("n%d", i), "probe": x.Config["probe"]}
					r.Results = append(r.Results, y)
				}
			}
		}
	}, "n9"},
	{"load and stress", func(r *account.Account) {
		for i, x := range r.Results {
			r.Results[i].Values = append(slices.Clip(x.Values), record.Value{Name: "stress.taken", Unit: "1", Value: 0.47},
				record.Value{Name: "load.delivered", Unit: "bit/s", Value: 3.21e9})
		}
	}, "CPU taken load ok"},
	{"clients", func(r *account.Account) {
		for i, x := range r.Results {
			if unit := map[string]string{"tcp-stream": "bit/s", "udp-stream": "bit/s", "udp-rate": "packet/s", "udp-rr": "1/s"}[x.Config["probe"]]; len(x.Values) > 0 {
				r.Results[i].Values = append(slices.Clip(x.Values), record.Value{Name: "clients.delivered", Unit: unit, Value: 2.5e9},
					record.Value{Name: "clients.least", Unit: "1", Value: 0.08}, record.Value{Name: "clients.most", Unit: "1", Value: 0.13})
			}
		}
	}, "all clients least most"},
	{"all pairs", func(r *account.Account) {
		for _, x := range r.Results {
			y := x
			x.Config["pair"] = "h1-h2"
			y.Trial, y.Config = x.Trial+"-2", map[string]string{"network": x.Config["network"], "probe": x.Config["probe"], "pair": "h3-h4"}
			r.Results = append(r.Results, y)
		}
		r.Results[0].Observed = record.Observed{record.AtOnce.Key(): "2"}
	}, "Absolute figures describe a shared machine"},
	{"link rate", func(r *account.Account) {
		for i := range r.Results {
			if r.Results[i].Observed != nil && r.Results[i].Config["probe"] == "tcp-stream" {
				r.Results[i].Observed["ceiling"], r.Results[i].Observed["link"] = "2.47e10", "2.6e10"
			}
		}
	}, "host: at the ceiling that the headers leave of the link"},
	{"hostile names", func(r *account.Account) {
		r.Name, r.Question, r.Study, r.Seed, r.Dir = hostile, hostile, []byte(hostile), hostile, hostile
		r.Command, r.Problems = []string{hostile}, []lang.Text{lang.Text(hostile)}
		r.Hosts = map[string][]byte{hostile: []byte(`{"kernel":"<script>"}`), "broken": []byte("{")}
		for i := range r.Results {
			x := &r.Results[i]
			x.Reason, x.Trial, x.Notes = hostile, x.Trial+hostile, []record.Note{record.NoteText.With(hostile), {Code: hostile, Args: []string{hostile}}}
			x.Config[hostile] = hostile
			if x.Config["network"] == "bridge" {
				x.Config["network"] = hostile
			}
			if x.Observed != nil {
				x.Observed[hostile] = fmt.Sprint(hostile, x.Block)
			}
		}
	}, "script"},
	{"values and levels without names", func(r *account.Account) {
		for i := range r.Results {
			x := &r.Results[i]
			x.Config["ends"], x.Config["pair"], x.Config[""] = []string{"", "pod-pod"}[i%2], []string{"h1-h2", ""}[i%2], ""
			for n := range x.Values {
				x.Values[n].Name, x.Values[n].Unit = "", ""
			}
		}
	}, ""},
	{"broken histograms", func(r *account.Account) {
		for i := range r.Results {
			for n := range r.Results[i].Values {
				if r.Results[i].Values[n].Hist != "" {
					r.Results[i].Values[n].Hist = "HISTgarbage"
				}
			}
		}
	}, "damaged histograms of response times: 12 ("},
	{"zeros", func(r *account.Account) {
		for i := range r.Results {
			for n := range r.Results[i].Values {
				r.Results[i].Values[n].Value = 0
			}
		}
	}, "they have no ratio"},
	{"huge values", func(r *account.Account) {
		for i := range r.Results {
			for n := range r.Results[i].Values {
				r.Results[i].Values[n].Value = math.MaxFloat64
			}
		}
		r.Results = append(r.Results, r.Results...)
	}, "TCP stream"},
	{"every trial warns and differs", func(r *account.Account) {
		for i := range r.Results {
			x := &r.Results[i]
			x.Notes = []record.Note{record.NoteText.With(fmt.Sprintf("warning %d", i))}
			if x.Observed != nil {
				x.Observed["port"] = fmt.Sprint(40000 + i)
			}
		}
	}, "and 7 more warnings"},
	{"a numeric factor", func(r *account.Account) {
		for _, x := range slices.Clone(r.Results) {
			for i, size := range []string{"9k", "1000", "64"} {
				y := x
				y.Trial, y.Config = fmt.Sprintf("%s-%d", x.Trial, i), map[string]string{"network": x.Config["network"], "probe": x.Config["probe"], "size": size}
				r.Results = append(r.Results, y)
			}
		}
		r.Results = slices.DeleteFunc(r.Results, func(x record.Result) bool { return x.Config["size"] == "" })
	}, "UDP stream, size 9k"},
}

func TestEdges(t *testing.T) {
	for _, e := range edges {
		t.Run(e.name, func(t *testing.T) {
			r := reporttest.Run(t)
			e.edit(r)
			r = reporttest.Again(r)
			out := map[string]string{}
			for name, f := range writers {
				s := write(t, f, r)
				for _, bad := range []string{"NaN", "+Inf", "-Inf"} {
					if strings.Contains(s, bad) {
						t.Errorf("%s contains %s", name, bad)
					}
				}
				out[name] = s
			}
			if !strings.Contains(strings.Join(strings.Fields(out["text"]), " "), e.says) {
				t.Errorf("the text does not say %q:\n%s", e.says, out["text"])
			}
			if strings.Count(out["html"], "<script") != 2 {
				t.Error("html: a name became markup")
			}
			_, rest, _ := strings.Cut(out["html"], `<script type="application/json" id="subjects">`)
			if data, _, _ := strings.Cut(rest, "</script>"); !json.Valid([]byte(data)) {
				t.Errorf("html: the data of the script is not valid: %s", data)
			}
			for _, medium := range []string{"text", "markdown", "html"} {
				if strings.ContainsAny(out[medium], "\x1b\u202e\x7f") {
					t.Errorf("%s: a name moves the cursor, or reverses the text", medium)
				}
			}
			for _, l := range strings.Split(out["markdown"], "\n") {
				if strings.Contains(l, "<script") {
					t.Errorf("markdown: a name became markup: %s", l)
				}
			}
			if _, err := csv.NewReader(strings.NewReader(out["csv"])).ReadAll(); err != nil {
				t.Errorf("csv: %v", err)
			}
			if !json.Valid([]byte(out["json"])) {
				t.Error("json: not valid")
			}
		})
	}
}

// The page must open from an email: it must load nothing from elsewhere.
func TestSelfContained(t *testing.T) {
	s := write(t, writers["html"], reporttest.Run(t))
	for _, bad := range []string{"<link", "<img", "<iframe", "@import", "url(", " src=", "fetch(", "import(", "XMLHttp"} {
		if strings.Contains(s, bad) {
			t.Errorf("the page contains %s", bad)
		}
	}
	if n, namespace := strings.Count(s, "http"), strings.Count(s, "http://www.w3.org/2000/svg"); n != namespace+1 { // http-equiv
		t.Errorf("the page names %d addresses besides the SVG namespace", n-namespace-1)
	}
	for _, tag := range []string{"section", "table", "details", "figure", "svg", "div", "ul"} {
		if open, closed := strings.Count(s, "<"+tag+">")+strings.Count(s, "<"+tag+" "), strings.Count(s, "</"+tag+">"); open != closed {
			t.Errorf("%d <%s> but %d closed", open, tag, closed)
		}
	}
	for _, want := range []string{"role=img", "prefers-color-scheme: dark", "not network throughput", "h1 vx0: MTU is 1400, expected 1450", "seed of the order", "gro"} {
		if !strings.Contains(s, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
}

func TestShell(t *testing.T) {
	if got, want := shell([]string{"weir", "run", "it's here", ""}), `weir run 'it'\''s here' ''`; got != want {
		t.Errorf("shell: %s, want %s", got, want)
	}
}
