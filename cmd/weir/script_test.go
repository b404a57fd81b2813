package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/weir-bench/weir/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"weir": func() { os.Exit(cli.Main("test", os.Args[1:])) }})
}

// TestScript runs every script in testdata: the command line as a user meets it.
// UPDATE=1 rewrites the expected output.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		Condition: func(cond string) (bool, error) {
			return cond == "lab" && labErr() == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"leftover": leftover,
			"await":    await,
		},
	})
}

// labErr says why this machine cannot run a lab, by trying.
func labErr() error {
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "true")
	if os.Geteuid() == 0 {
		cmd = exec.Command("unshare", "--net", "--pid", "--fork", "true")
	}
	return cmd.Run()
}

// leftover fails when a process still has the script's work directory in its
// environment or command line: whatever weir started here.
func leftover(ts *testscript.TestScript, neg bool, _ []string) {
	work := ts.Getenv("WORK")
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		if filepath.Base(p) == "self" || p == fmt.Sprintf("/proc/%d", os.Getpid()) {
			continue
		}
		env, _ := os.ReadFile(filepath.Join(p, "environ"))
		if strings.Contains(string(env), "WORK="+work) {
			cmdline, _ := os.ReadFile(filepath.Join(p, "cmdline"))
			ts.Fatalf("process %s is left: %s", filepath.Base(p), strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
}
