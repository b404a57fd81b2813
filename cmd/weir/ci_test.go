package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

type action struct {
	Inputs map[string]struct {
		Default string
	}
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Using string
		Steps []struct {
			Name, ID, Shell, Run string
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
	var example struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]string
			}
		}
	}
	decode(t, "docs/ci/github.yml", &example)
	found := false
	for _, s := range example.Jobs["weir"].Steps {
		if !strings.HasPrefix(s.Uses, "weir-bench/weir@") {
			continue
		}
		found = true
		for name := range s.With {
			if _, ok := a.Inputs[name]; !ok {
				t.Errorf("docs/ci/github.yml: unknown input %s", name)
			}
		}
	}
	if !found {
		t.Error("docs/ci/github.yml does not use the action")
	}
}

// ci is a machine on which the network of the change is as fast as before or has half the throughput. Its weir
// copies a run instead of measuring one, and compares as ours does.
type ci struct {
	dir string
	env []string
}

func newCI(t *testing.T, after float64) ci {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	weir, err := exec.LookPath("weir")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := ci{dir, append(os.Environ(), "RUNNER_TEMP="+dir, "GITHUB_OUTPUT="+dir+"/output", "GITHUB_STEP_SUMMARY="+dir+"/summary.md",
		"XDG_STATE_HOME="+dir+"/state", "PATH="+dir+"/bin:"+os.Getenv("PATH"), "RUNS=3")}
	for i := range 6 {
		factor := 1.0
		if i%2 == 1 {
			factor = after
		}
		c.run(t, fmt.Sprintf("made/%d", i), factor*(1+0.004*float64(i)))
	}
	c.write(t, "bin/weir", fmt.Sprintf(`#!/bin/sh
if [ "$1" != run ]; then exec %q "$@"; fi
for out; do :; done # the last argument
n=$(cat "$RUNNER_TEMP/count" 2>/dev/null || echo 0)
echo $((n + 1)) > "$RUNNER_TEMP/count"
echo "$*" >> "$RUNNER_TEMP/argv"
cp -r "$RUNNER_TEMP/made/$n" "$out"
`, weir))
	if err := os.Chmod(filepath.Join(dir, "bin/weir"), 0o755); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c ci) write(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(c.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666)); err != nil {
		t.Fatal(err)
	}
}

// run writes a run in which an overlay carries 0.6 of the host's throughput, times factor.
func (c ci) run(t *testing.T, dir string, factor float64) {
	t.Helper()
	c.write(t, dir+"/study.yaml", "name: ci\nnetworks: [host, vxlan]\nprobes: [tcp-stream]\nbaseline: host\nblocks: 8\nduration: 1s\nseed: 1\n")
	var b strings.Builder
	for block := 1; block <= 8; block++ {
		for _, network := range []string{"host", "vxlan"} {
			v := 1e10 * (1 + 0.003*float64(block*5%7))
			if network == "vxlan" {
				v *= 0.6 * factor * (1 + 0.002*float64(block*3%5))
			}
			fmt.Fprintf(&b, `{"format":1,"trial":"b%03d-%s","block":%[1]d,"status":"ok","start":"2026-01-02T03:04:%02[1]dZ","elapsed":1,"asked":{"network":%[2]q,"probe":"tcp-stream"},"values":[{"name":"throughput","unit":"bit/s","value":%[3]g}]}`+"\n", block, network, v)
		}
	}
	c.write(t, dir+"/results.jsonl", b.String())
}

// shell runs a script as CI does and returns its output and exit status.
func (c ci) shell(t *testing.T, script string, env ...string) (string, int) {
	t.Helper()
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = c.dir, append(c.env, env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func (c ci) read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The action fails on a regression, passes without one, and installs each side before its run.
func TestAction(t *testing.T) {
	var a action
	decode(t, "action.yml", &a)
	for _, x := range []struct {
		after  float64
		status int
		want   string
	}{{1, 0, ""}, {0.5, 1, "::error title=vxlan%2C tcp-stream::worse by more than 5 %25"}} {
		c := newCI(t, x.after)
		env := []string{"BEFORE=echo install before >> argv", "AFTER=echo install after >> argv", "ARGS=study.yaml --fast", "MOST=5%", "RESULTS=" + c.dir + "/weir/results"}
		for _, s := range a.Runs.Steps {
			if s.Name != "Measure both sides in turn" && s.Name != "Compare" {
				continue // needs Go's cache or root
			}
			out, status := c.shell(t, s.Run, env...)
			want := 0
			if s.Name == "Compare" {
				want = x.status
				if !strings.Contains(out, x.want) || x.want == "" && strings.Contains(out, "::error") {
					t.Errorf("annotations %q, want %q", out, x.want)
				}
			}
			if status != want {
				t.Errorf("%s: status %d, want %d:\n%s", s.Name, status, want, out)
			}
		}
		results := c.dir + "/weir/results"
		want := strings.Repeat("install before\nrun study.yaml --fast -o "+results+"/before-N\ninstall after\nrun study.yaml --fast -o "+results+"/after-N\n", 3)
		if got := regexp.MustCompile(`-[1-3]\n`).ReplaceAllString(c.read(t, "argv"), "-N\n"); got != want {
			t.Errorf("commands\n%swant\n%s", got, want)
		}
		if got := c.read(t, "output"); got != "results="+results+"\n" {
			t.Errorf("outputs %q", got)
		}
		if s := c.read(t, "summary.md"); !strings.Contains(s, "| vxlan, tcp-stream |") {
			t.Errorf("no table in the summary %q", s)
		}
		if s := c.read(t, "weir/results/weir.xml"); !strings.Contains(s, fmt.Sprintf(`tests="1" failures="%d"`, x.status)) {
			t.Errorf("JUnit: %s", s)
		}
	}
}

// A side that cannot be installed is no comparison.
func TestActionStopsWhereAnInstallationFails(t *testing.T) {
	var a action
	decode(t, "action.yml", &a)
	for _, s := range a.Runs.Steps {
		if s.ID != "measure" {
			continue
		}
		c := newCI(t, 1)
		out, status := c.shell(t, s.Run, "BEFORE=true", "AFTER=false; true", "ARGS=")
		if status == 0 {
			t.Errorf("status 0:\n%s", out)
		}
		return
	}
	t.Error("no step measure")
}

func TestGitLabJob(t *testing.T) {
	var job struct {
		Network struct {
			Script    []string
			Artifacts struct{ Reports map[string]string }
		}
	}
	decode(t, "docs/ci/gitlab.yml", &job)
	for after, want := range map[float64]int{1: 0, 0.5: 1} {
		c := newCI(t, after)
		c.write(t, "bin/make", "#!/bin/sh\n")
		if err := os.Chmod(filepath.Join(c.dir, "bin/make"), 0o755); err != nil {
			t.Fatal(err)
		}
		// GitLab runs the lines of a job in one shell.
		out, status := c.shell(t, strings.Join(job.Network.Script, "\n"))
		if status != want {
			t.Errorf("status %d, want %d:\n%s", status, want, out)
		}
		for kind, file := range job.Network.Artifacts.Reports {
			if c.read(t, file) == "" {
				t.Errorf("the report %s is empty", kind)
			}
		}
	}
}
