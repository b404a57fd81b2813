package export

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/record"
)

const sum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func cite(w io.Writer, runs []*account.Account) error {
	return Citation{Prefix: "weir", Sum: sum}.Write(w, runs)
}

func TestCite(t *testing.T) {
	golden(t, "cite.bib", written(t, cite, recorded(t)))
	golden(t, "cite-pooled.bib", written(t, cite, made(1, "third", unchanged), made(2, "third", unchanged), made(3, "third", unchanged)))
}

// macros returns what the control words of a citation stand for.
func macros(t *testing.T, text []byte) map[string]string {
	t.Helper()
	all := map[string]string{}
	defined := regexp.MustCompile(`^\\newcommand\{\\([A-Za-z]+)\}\{(.*)\}$`)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == `\endinput` {
			return all
		}
		if strings.HasPrefix(line, "%") {
			continue
		}
		m := defined.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("no macro: %q", line)
		}
		if _, again := all[m[1]]; again {
			t.Errorf("%s is defined twice", m[1])
		}
		all[m[1]] = m[2]
	}
	t.Fatal("no end")
	return nil
}

// Another result is another number, in its own macros and in no others.
func TestCiteFollowsResults(t *testing.T) {
	before := macros(t, written(t, cite, made(1, "third", unchanged)))
	after := macros(t, written(t, cite, made(1, "third", func(network, probe string) float64 {
		if network == "third" && probe == "tcp-rr" {
			return 2
		}
		return 1
	})))
	for name, text := range before {
		if of := strings.HasPrefix(name, "weirThirdTcpRr") && !strings.HasSuffix(name, "Unit"); of != (after[name] != text) {
			t.Errorf("%s: %q, then %q", name, text, after[name])
		}
	}
	if len(before) != len(after) || before["weirThirdTcpRrRttRatio"] == "" {
		t.Errorf("%d macros, then %d: %v", len(before), len(after), before)
	}
}

// A search for several goals on loss has the numbers of each; a goal without a result, as one whose sender was the limit has no upper
// bound, has no macro.
func TestCiteGoals(t *testing.T) {
	searched := func(n int, drop bool) *account.Account {
		var rs []record.Result
		for block := 1; block <= 8; block++ {
			r := record.Result{Format: record.Format, Trial: fmt.Sprint("b", block), Block: block, Status: record.OK,
				Config: map[string]string{"network": "host", "probe": "udp-capacity", "size": "18"},
				Values: []record.Value{record.Capacity.Whole().Value("packet/s", 2e5)}}
			for i, goal := range []string{"0%", "0.5%"} {
				rate := 1e5*float64(1+i) + float64(100*block+n)
				r.Values = append(r.Values, record.ThroughputAt.Goal(goal).Value("packet/s", rate), record.BoundLower.Goal(goal).Value("packet/s", rate+1000))
				if i == 0 {
					r.Values = append(r.Values, record.BoundUpper.Goal(goal).Value("packet/s", rate+2000))
				}
			}
			if drop && block == 3 {
				r.Values = r.Values[:1]
			}
			rs = append(rs, r)
		}
		return of("searched", hosts, rs, analysis.Options{Networks: []string{"host"}})
	}
	const name = "weirHostUdpCapacityGoalZeroSizeOneEight"
	one := macros(t, written(t, cite, searched(0, true)))
	for suffix, want := range map[string]string{"ThroughputConditional": "100", "ThroughputConditionalUnit": "kpacket/s", "BoundLower": "101", "BoundUpper": "102"} {
		if got := one[name+suffix]; !strings.HasPrefix(got, want) {
			t.Errorf("%s is %q, want %s", suffix, got, want)
		}
	}
	if one[name+"ThroughputConditionalLow"] == "" || one["weirHostUdpCapacityGoalZeroPointFiveSizeOneEightThroughputConditionalText"] == "" {
		t.Errorf("no interval, or not the second goal: %v", one)
	}
	if got, there := one["weirHostUdpCapacityGoalZeroPointFiveSizeOneEightBoundUpper"]; there {
		t.Errorf("an upper bound that nobody found: %s", got)
	}
	if pooled := macros(t, written(t, cite, searched(0, false), searched(9, false), searched(5, false))); pooled[name+"ThroughputConditionalText"] == "" {
		t.Errorf("several runs have no goals: %v", pooled)
	}
}

// A package that has the results is named whole, where a reader of the paper sees it, and TeX can break it.
func TestCitePackage(t *testing.T) {
	const digest = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
	r := recorded(t)
	var b bytes.Buffer
	if err := (Citation{Prefix: "weir", Sum: sum, Package: digest}).Write(&b, []*account.Account{r}); err != nil {
		t.Fatal(err)
	}
	all := macros(t, b.Bytes())
	if all["weirPackageChecksum"] != digest || all["weirPackageChecksumShort"] != digest[:12] {
		t.Errorf("%v", all)
	}
	if _, entries, _ := strings.Cut(b.String(), `\endinput`); !strings.Contains(strings.ReplaceAll(entries, `\allowbreak{}`, ""), "package with SHA-256 "+digest+"}") {
		t.Errorf("the bibliography does not name the package:\n%s", entries)
	}
	if without := macros(t, written(t, cite, r)); without["weirPackageChecksum"] != "" {
		t.Error("a package that nobody named")
	}
	consumer(t, "pdflatex", "apt install texlive-latex-base")
	paper := []byte("\\documentclass{article}\n\\input{weir.bib}\n\\begin{document}\\weirPackageChecksumShort\\cite{weir-run}\\bibliographystyle{plain}\\bibliography{weir}\\end{document}\n")
	if log, err := build(t, paper, b.Bytes()); err != nil || strings.Contains(log, "Overfull") {
		t.Errorf("%v:\n%s", err, log)
	}
}

// Names that differ only in what a control word lacks do not share one.
func TestCiteNames(t *testing.T) {
	for _, c := range []struct{ word, want string }{{word("vxlan-overlay", "tcp-stream", "size", "1400", "throughput"), "VxlanOverlayTcpStreamSizeOneFourZeroZeroThroughput"},
		{word("load", "0.5", "latency.p99"), "LoadZeroPointFiveLatencyPNineNine"}, {word("", "9°", "{\\"), "Nine"}} {
		if c.word != c.want {
			t.Errorf("%s, want %s", c.word, c.want)
		}
	}
	var rs []record.Result
	r := made(1, "over_lay", func(network, _ string) float64 { return float64(len(network)) })
	for x := range r.Analysis.Results() {
		c := *x
		if c.Config["network"] == "overlay" {
			c.Config["network"] = "over-lay"
		}
		rs = append(rs, c)
	}
	all := macros(t, written(t, cite, of("made", hosts, rs, r.Options)))
	found := 0
	for name := range all {
		if strings.HasPrefix(name, "weirOverLayTcpRrRttX") && strings.HasSuffix(name, "Text") {
			found++
		}
	}
	if found != 2 || all["weirOverLayTcpRrRtt"] != "" {
		t.Errorf("%d names for two networks: %v", found, all)
	}
}

// The sample paper has no number of its own. LaTeX and BibTeX read the file, and stop at a number that it lacks.
func TestPaper(t *testing.T) {
	paper, err := os.ReadFile("testdata/paper.tex")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(paper), `\begin{document}`)
	if own := regexp.MustCompile(`.*[0-9].*`).FindString(strings.ReplaceAll(body, "SHA-256", "")); own != "" || body == "" {
		t.Errorf("the sample paper has a number of its own: %s", own)
	}
	consumer(t, "pdflatex", "apt install texlive-latex-base")
	r := recorded(t)
	log, err := build(t, paper, written(t, cite, r))
	if err != nil || !strings.Contains(log, "(2 pages") {
		t.Errorf("%v:\n%s", err, log)
	}
	n := macros(t, written(t, cite, r))["weirVxlanOverlayUdpStreamThroughputRatioText"]
	if n == "" || !strings.Contains(log, "the number is "+n) {
		t.Errorf("the paper has not %q:\n%s", n, log)
	}
	if log, err := build(t, paper, written(t, cite, made(1, "third", unchanged))); err == nil || !strings.Contains(log, "Undefined control sequence") {
		t.Errorf("a paper about numbers of another run: %v\n%s", err, log)
	}
}

// Hostile names neither break the file nor run a command of TeX.
func TestCiteEscapes(t *testing.T) {
	text := written(t, cite, hostileRun(t))
	all := macros(t, text)
	consumer(t, "pdflatex", "apt install texlive-latex-base")
	var paper bytes.Buffer
	paper.WriteString("\\documentclass{article}\n\\input{weir.bib}\n\\begin{document}\n")
	for name := range all {
		paper.WriteString("\\" + name + "\n\n")
	}
	paper.WriteString("\\cite{weir,weir-run}\n\\bibliographystyle{plain}\\bibliography{weir}\\end{document}\n")
	if log, err := build(t, paper.Bytes(), text); err != nil {
		t.Errorf("%v:\n%s", err, log)
	}
}

// build builds a paper with its bibliography, and returns what the programs said.
func build(t *testing.T, paper, bib []byte) (log string, _ error) {
	t.Helper()
	dir := t.TempDir()
	for name, b := range map[string][]byte{"paper.tex": paper, "weir.bib": bib} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	latex := []string{"pdflatex", "-halt-on-error", "-interaction=nonstopmode", "-jobname=paper",
		`\AtBeginDocument{\typeout{the number is \csname weirVxlanOverlayUdpStreamThroughputRatioText\endcsname}}\input{paper}`}
	for _, argv := range [][]string{latex, {"bibtex", "paper"}, latex, latex} {
		c := exec.Command(argv[0], argv[1:]...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if log += string(out); err != nil {
			return log, err
		}
	}
	return log, nil
}
