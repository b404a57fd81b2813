package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

type action struct {
	Inputs map[string]struct {
		Default  string
		Required bool
	}
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Using string
		Steps []struct {
			Name, ID, Shell, Run string
			Directory            string `yaml:"working-directory"`
			Env                  map[string]string
		}
	}
}

func decode(t *testing.T, file string, v any) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../..", file))
	if err == nil {
		err = yaml.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return b
}

var expression = regexp.MustCompile(`\$\{\{ *([^ }]+) *\}\}`)

// GitHub evaluates expressions before the shell sees them: text of a user in a script would be code.
func TestActionIsWellFormed(t *testing.T) {
	var a action
	b := decode(t, "action.yml", &a)
	if a.Runs.Using != "composite" || len(a.Runs.Steps) == 0 {
		t.Fatalf("not a composite action: %+v", a)
	}
	used := map[string]bool{}
	for _, m := range expression.FindAllSubmatch(b, -1) {
		name, isInput := strings.CutPrefix(string(m[1]), "inputs.")
		if _, ok := a.Inputs[name]; isInput && !ok {
			t.Errorf("unknown input %s", name)
		}
		used[name] = true
	}
	for name := range a.Inputs {
		if !used[name] {
			t.Errorf("input %s is never used", name)
		}
	}
	for _, s := range a.Runs.Steps {
		if s.Shell != "bash" || expression.MatchString(s.Run) {
			t.Errorf("step %q: shell %q, or an expression in its script", s.Name, s.Shell)
		}
	}
	for name := range exampleInputs(t) {
		if _, ok := a.Inputs[name]; !ok {
			t.Errorf("docs/ci/github.yml: unknown input %s", name)
		}
	}
}

// exampleInputs returns the inputs with which docs/ci/github.yml uses the action.
func exampleInputs(t *testing.T) map[string]string {
	t.Helper()
	var example struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]string
			}
		}
	}
	decode(t, "docs/ci/github.yml", &example)
	for _, s := range example.Jobs["weir"].Steps {
		if strings.HasPrefix(s.Uses, "weir-bench/weir@") {
			return s.With
		}
	}
	t.Fatal("docs/ci/github.yml does not use the action")
	return nil
}

// The tests below measure on machines that also do other work, so what they plant is far larger than what they can mistake
// for a change. The kernel answers and stamps echoes, which thus wait for no program. A bridge of 1 Mbit/s gets 8 Mbit/s of them:
// a queue grows, and the ratio to host rises 8000-fold, of which tolerated is a 10-fold rise. At a load of 64 on two CPUs, the
// ratios of runs of unchanged networks differ by 20 %: for a false alarm, all runs of one side would have to be 10-fold slower than
// those of the other.
const (
	fastBridge = "networks: [host, bridge]\n"
	slowBridge = "networks: [host, {use: bridge, also: [{in: h1, rate: {dev: p2, rate: 1e6}}]}]\n"
	design     = "hosts: 1\nprobes: [{use: ping, size: 1000, interval: 1ms}]\nkeep-disturbed: true\nfast: {blocks: 3, warmup: 0s, duration: 50ms}\n"
	tolerated  = "900%"
)

// The action builds weir, measures a change as docs/ci/github.yml does, and fails where the change is a regression.
func TestAction(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	t.Run("no regression", func(t *testing.T) {
		t.Parallel()
		c := newCI(t)
		u := c.pullRequest(t, fastBridge, 3)
		if u.failed != "" || strings.Contains(u.log, "::error") || strings.Contains(u.row, "WORSE") || !strings.Contains(u.junit, `tests="1" failures="0"`) {
			t.Errorf("failed in %q, JUnit %s:\n%s%s", u.failed, u.junit, u.summary, u.log)
		}
		// A side that cannot be installed is no comparison.
		u = c.use(t, map[string]string{"before": "false; true", "after": "true"})
		if u.failed != "Measure both sides in turn" || u.summary != "" {
			t.Errorf("failed in %q, summary %q:\n%s", u.failed, u.summary, u.log)
		}
	})
	// A job can use the action more than once.
	t.Run("regression", func(t *testing.T) {
		t.Parallel()
		c := newCI(t)
		u := c.pullRequest(t, slowBridge, 1)
		if u.failed != "" || !strings.Contains(u.log, "::warning title=bridge%2C ping::cannot tell") || !strings.Contains(u.junit, `skipped="1"`) {
			t.Errorf("one run a side failed in %q, JUnit %s:\n%s%s", u.failed, u.junit, u.summary, u.log)
		}
		u = c.pullRequest(t, slowBridge, 3)
		if u.failed != "Compare" || !strings.Contains(u.log, "\n::error title=bridge%2C ping::worse by more than 900 %25: ") ||
			!strings.Contains(u.row, "WORSE") || !strings.Contains(u.summary, "p2.qdisc: noqueue → tbf") || !strings.Contains(u.junit, `tests="1" failures="1"`) {
			t.Errorf("failed in %q, JUnit %s:\n%s%s", u.failed, u.junit, u.summary, u.log)
		}
	})
}

// pullRequest uses the action for a change of the network, as docs/ci/github.yml does.
func (c *ci) pullRequest(t *testing.T, change string, runs int) use {
	t.Helper()
	c.project(t, "base", fastBridge)
	c.project(t, "change", change)
	with := exampleInputs(t)
	with["runs"], with["max-regression"] = strconv.Itoa(runs), tolerated
	u := c.use(t, with)
	var got, want []string
	for line := range strings.Lines(u.log) {
		if group, ok := strings.CutPrefix(line, "::group::"); ok {
			got = append(got, strings.TrimSpace(group))
		}
	}
	for i := range runs {
		want = append(want, fmt.Sprintf("before, run %d of %d", i+1, runs), fmt.Sprintf("after, run %d of %d", i+1, runs))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("measured %q, want %q:\n%s", got, want, u.log)
	}
	c.sides(t, u.outputs["results"], change)
	u.row = regexp.MustCompile(`(?m)^\| bridge, ping \|.*$`).FindString(u.summary) // the first is of the ratios
	if u.row == "" {
		t.Errorf("no ratio in the summary:\n%s", u.summary)
	}
	u.junit = c.read(t, u.outputs["results"]+"/weir.xml")
	return u
}

// sides tests that every run in dir measured the network of its side.
func (c *ci) sides(t *testing.T, dir, change string) {
	t.Helper()
	for side, network := range map[string]string{"before": fastBridge, "after": change} {
		runs, err := filepath.Glob(filepath.Join(dir, side+"-*"))
		if err != nil || len(runs) == 0 {
			t.Errorf("%d runs %s, %v", len(runs), side, err)
		}
		for _, run := range runs {
			if study := c.read(t, run+"/study.yaml"); strings.Contains(study, "rate:") != (network == slowBridge) {
				t.Errorf("%s measured the other side:\n%s", run, study)
			}
		}
	}
}

// The job of docs/ci/gitlab.yml checks out both sides, measures them, and fails where the change is a regression.
func TestGitLabJob(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	var job struct {
		Network struct {
			Variables map[string]string
			Before    []string `yaml:"before_script"`
			Script    []string
			Artifacts struct{ Reports map[string]string }
		}
	}
	decode(t, "docs/ci/gitlab.yml", &job)
	for change, want := range map[string]int{fastBridge: 0, slowBridge: 1} {
		t.Run(fmt.Sprint("status ", want), func(t *testing.T) {
			t.Parallel()
			c := newCI(t)
			c.goInstalls(t)
			c.project(t, ".", fastBridge)
			commit := "git init -q; git add -A; git -c user.name=a -c user.email=a commit -q --allow-empty -m a; git rev-parse HEAD"
			base, status := c.shell(t, c.dir, commit)
			c.project(t, ".", change)
			if out, again := c.shell(t, c.dir, commit); status != 0 || again != 0 {
				t.Fatal(base, out)
			}
			env := []string{"CI_MERGE_REQUEST_DIFF_BASE_SHA=" + strings.TrimSpace(base)}
			for name, v := range job.Network.Variables {
				if other, ok := map[string]string{"RUNS": "3", "MAX_REGRESSION": tolerated}[name]; ok {
					v = other // the variables of a pipeline come before those of its jobs
				}
				env = append(env, name+"="+v)
			}
			// GitLab runs the lines of a job in one shell.
			out, status := c.shell(t, c.dir, strings.Join(append(slices.Clone(job.Network.Before), job.Network.Script...), "\n"), env...)
			if status != want || strings.Contains(out, "worse by more than "+tolerated) != (want == 1) {
				t.Errorf("status %d, want %d:\n%s", status, want, out)
			}
			c.sides(t, c.dir, change)
			for kind, holds := range map[string]string{"junit": fmt.Sprintf(`tests="1" failures="%d"`, want), "metrics": `network="bridge"`} {
				if s := c.read(t, job.Network.Artifacts.Reports[kind]); !strings.Contains(s, holds) {
					t.Errorf("the report %s has no %s:\n%s", kind, holds, s)
				}
			}
		})
	}
}

// goInstalls gives the job a go that installs the weir of the tests where the job asks for a version, which is on the Internet.
func (c *ci) goInstalls(t *testing.T) {
	t.Helper()
	weir, err := exec.LookPath("weir")
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := exec.Command("go", "list", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	c.program(t, "go", fmt.Sprintf(`#!/bin/sh
case "$*" in
"env GOPATH") echo "$RUNNER_TEMP/go" ;;
"install %s@main") mkdir -p "$RUNNER_TEMP/go/bin" && ln -sf %q "$RUNNER_TEMP/go/bin/weir" ;;
*) echo "go $*: not in this test" >&2; exit 1 ;;
esac
`, strings.TrimSpace(string(pkg)), weir))
}
