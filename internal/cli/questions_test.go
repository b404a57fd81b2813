package cli

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/place"
)

var (
	remark  = regexp.MustCompile(`\s+# .*`)
	ourLine = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )?(?:sudo (?:-E )?)?(?:\./bin/)?weir (.*)$`)
	piped   = regexp.MustCompile(`\s+[|&;>].*`)
)

// documented returns the commands of weir in the examples of a page, as a shell splits them.
func documented(t *testing.T, page string) (all [][]string) {
	t.Helper()
	b, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		code, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "    ")
		m := ourLine.FindStringSubmatch(remark.ReplaceAllString(strings.TrimPrefix(code, "$ "), ""))
		if !ok || m == nil || strings.HasPrefix(m[1], "lab exec") {
			continue
		}
		out, err := exec.Command("sh", "-fc", "printf '%s\\n' "+piped.ReplaceAllString(m[1], "")).Output()
		if err != nil {
			t.Errorf("%s: %s: %v", page, m[1], err)
			continue
		}
		all = append(all, strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"))
	}
	return all
}

// Every command of the pages that people copy from is one: its flags and arguments are known, and a study of a run can be
// planned.
func TestDocumentedCommands(t *testing.T) {
	for _, page := range []string{"docs/questions.md", "docs/bmwg.md", "README.md", "docs/ci.md", "docs/ssh.md", "docs/kubernetes.md"} {
		all := documented(t, page)
		if len(all) < 3 {
			t.Errorf("%s: found %d commands: the test looks in the wrong place", page, len(all))
		}
		for _, as := range all {
			if err := understood(as); err != nil {
				t.Errorf("%s: weir %s: %v", page, strings.Join(as, " "), err)
			}
		}
	}
}

// weir plan prints what the runs of the lab's questions build: it takes their studies, networks and factors.
func TestPlanTakesWhatRunTakes(t *testing.T) {
	planned := 0
	for _, as := range documented(t, "docs/questions.md") {
		c := planCommand()
		if as[0] != "run" || c.ParseFlags(as[1:]) != nil { // flags of a run alone, such as --runs
			continue
		}
		var f planFlags
		c = &cobra.Command{}
		f.study.register(c)
		if err := c.ParseFlags(as[1:]); err != nil {
			t.Fatal(err)
		}
		s, err := f.study.study(c, c.Flags().Args())
		if err == nil && s.Target.Exists() {
			continue
		}
		var all []job.Planned
		if err == nil {
			all, err = job.Plans(s)
		}
		if err != nil || len(all) < len(s.Networks) {
			t.Errorf("weir plan %s: %d plans, %v", strings.Join(as[1:], " "), len(all), err)
		}
		planned++
	}
	if planned < 40 {
		t.Errorf("only %d commands were planned: the test looks in the wrong place", planned)
	}
}

func TestUnderstood(t *testing.T) {
	for _, line := range []string{"run -n nosuch", "run --nosuch", "run nosuch", "run -n host -f size=many -p udp-rr", "report --nosuch x", "pool", "lab nosuch", "nosuch", "doctor x"} {
		if understood(strings.Fields(line)) == nil {
			t.Errorf("weir %s is understood", line)
		}
	}
}

func understood(as []string) error {
	root := Command("test")
	c, rest, err := root.Find(as)
	if err == nil && c == root {
		return root.ValidateArgs(rest)
	}
	if err != nil || c.DisableFlagParsing { // the engine's commands parse their own
		return err
	}
	var run *runFlags
	if c.Name() == "run" && c.Parent() == root {
		c, run = newRun("test")
		decimals(c)
	}
	if err := c.ParseFlags(rest); err != nil {
		return wrongFlag(c, err)
	}
	rest = c.Flags().Args()
	if err := c.ValidateArgs(rest); err != nil || run == nil {
		return err
	}
	return run.planned(c, rest)
}

// planned plans the study of a run that has one of its own.
func (f *runFlags) planned(c *cobra.Command, as []string) error {
	if err := f.check(c, as); err != nil || f.resume != "" || f.study.target.attach != "" {
		return err
	}
	if len(as) > 0 && strings.HasSuffix(as[0], ".yaml") { // the reader's own
		return nil
	}
	s, err := f.study.study(c, as)
	if err != nil {
		return err
	}
	return place.Check(s)
}
