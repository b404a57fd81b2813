package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// restricted is 1 where AppArmor takes their rights from user namespaces.
const restricted = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"

// ci is a machine that runs a job. Its weir is the one that the job installs.
type ci struct {
	dir string // where the job works
	env []string
}

func newCI(t *testing.T) *ci {
	t.Helper()
	for _, program := range []string{"bash", "git", "go", "make"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("no " + program)
		}
	}
	if err := labErr(); err != nil {
		t.Skip("namespaces are not available: ", err)
	}
	temp := t.TempDir()
	c := &ci{dir: temp + "/work"}
	var path []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "weir")); err != nil {
			path = append(path, dir)
		}
	}
	for _, v := range os.Environ() { // the tests can run in CI, or in a hook of git
		if !strings.HasPrefix(v, "GIT") && !strings.HasPrefix(v, "RUNNER_") && !strings.HasPrefix(v, "PATH=") {
			c.env = append(c.env, v)
		}
	}
	c.env = append(c.env, "PATH="+temp+"/bin:"+strings.Join(path, ":"), "XDG_STATE_HOME="+temp+"/state", "RUNNER_TEMP="+temp+"/temp",
		"INSTALLED="+temp+"/installed.yaml", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	for _, dir := range []string{c.dir, temp + "/temp"} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// program adds a program to the PATH of the job.
func (c *ci) program(t *testing.T, name, script string) {
	t.Helper()
	c.write(t, "../bin/"+name, script)
	if err := os.Chmod(filepath.Join(c.dir, "../bin", name), 0o755); err != nil {
		t.Fatal(err)
	}
}

// project writes a project whose `make install` installs the given network, and whose study measures the installed one.
func (c *ci) project(t *testing.T, dir, network string) {
	t.Helper()
	c.write(t, dir+"/Makefile", "install:\n\tcp installed.yaml $(INSTALLED)\n")
	c.write(t, dir+"/installed.yaml", network+design)
	err := os.Symlink(filepath.Join(c.dir, "../installed.yaml"), filepath.Join(c.dir, dir, "network.yaml"))
	if err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
}

func (c *ci) write(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(c.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666)); err != nil {
		t.Fatal(err)
	}
}

func (c *ci) read(t *testing.T, name string) string {
	t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.dir, name)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// shell runs a script in dir as CI does and returns its output and exit status.
func (c *ci) shell(t *testing.T, dir, script string, env ...string) (string, int) {
	t.Helper()
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, append(slices.Clone(c.env), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// A use is what came of one use of the action.
type use struct {
	log, summary string
	outputs      map[string]string
	failed       string // the step that failed, the last one that ran
	row, junit   string // of the cell in the summary, and the file
}

// use runs the steps of the action in order, as GitHub's runner does.
func (c *ci) use(t *testing.T, with map[string]string) (u use) {
	t.Helper()
	var a action
	decode(t, "action.yml", &a)
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	c.program(t, "sudo", "#!/bin/sh\n[ \"$*\" = 'tee "+restricted+"' ] && cat > \"$RUNNER_TEMP/written\"\n") // the tests change no setting
	known := map[string]string{"github.action_path": repository}
	for name, input := range a.Inputs {
		if _, ok := with[name]; input.Required && !ok {
			t.Fatalf("no input %s", name)
		}
		known["inputs."+name] = input.Default
	}
	for name, v := range with {
		known["inputs."+name] = v
	}
	evaluate := func(s string) string {
		return expression.ReplaceAllStringFunc(s, func(e string) string {
			v, ok := known[expression.FindStringSubmatch(e)[1]]
			if !ok {
				t.Fatalf("%s has no value", e)
			}
			return v
		})
	}
	for _, s := range a.Runs.Steps {
		var env []string
		for name, v := range s.Env {
			env = append(env, name+"="+evaluate(v))
		}
		for _, file := range []string{"GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY"} {
			c.write(t, "../"+file, "")
			env = append(env, file+"="+filepath.Join(c.dir, "..", file))
		}
		dir := c.dir
		if s.Directory != "" {
			dir = evaluate(s.Directory)
		}
		out, status := c.shell(t, dir, s.Run, env...)
		u.log += out
		u.summary += c.read(t, "../GITHUB_STEP_SUMMARY")
		for line := range strings.Lines(c.read(t, "../GITHUB_OUTPUT")) {
			name, v, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			if !ok {
				t.Fatalf("%s: output %q", s.Name, line)
			}
			known["steps."+s.ID+".outputs."+name] = v
		}
		for line := range strings.Lines(c.read(t, "../GITHUB_PATH")) {
			for i, v := range c.env {
				if path, ok := strings.CutPrefix(v, "PATH="); ok {
					c.env[i] = "PATH=" + strings.TrimSuffix(line, "\n") + ":" + path
				}
			}
		}
		for line := range strings.Lines(c.read(t, "../GITHUB_ENV")) {
			c.env = append(c.env, strings.TrimSuffix(line, "\n"))
		}
		if status != 0 {
			u.failed = s.Name
			break
		}
	}
	if _, err := os.Stat(restricted); err == nil && c.read(t, "../temp/written") != "0\n" {
		t.Errorf("wrote %q to %s", c.read(t, "../temp/written"), restricted)
	}
	u.outputs = map[string]string{}
	for name, o := range a.Outputs {
		u.outputs[name] = evaluate(o.Value)
	}
	return u
}
