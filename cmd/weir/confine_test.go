package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The engines of a run, which talk to the network, have given up what they do not need.
func TestEngineConfined(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	if info, ok := debug.ReadBuildInfo(); !ok || slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "1"}) {
		t.Skip("built with cgo: nothing is confined")
	}
	t.Parallel()
	p := start(t, nil, long(filepath.Join(t.TempDir(), "out"))...)
	const most = 1<<unix.CAP_NET_ADMIN | 1<<unix.CAP_NET_RAW | 1<<unix.CAP_NET_BIND_SERVICE | 1<<unix.CAP_IPC_LOCK
	for _, command := range []string{" engine agent ", " engine serve "} {
		eventually(t, "a confined"+command+"runs", func() bool {
			for _, line := range withEnv(p.mark) {
				pid, args, _ := strings.Cut(line, ":")
				if !strings.Contains(args, command) {
					continue
				}
				b, _ := os.ReadFile(fmt.Sprintf("/proc/%s/status", pid)) // it can have ended
				caps, gained := uint64(1<<63), ""
				for field := range strings.Lines(string(b)) {
					switch name, value, _ := strings.Cut(strings.TrimSpace(field), ":\t"); name {
					case "CapPrm":
						caps, _ = strconv.ParseUint(value, 16, 64)
					case "NoNewPrivs":
						gained = value
					}
				}
				if caps&^most == 0 && gained == "1" { // at first it is not yet
					return true
				}
			}
			return false
		})
	}
	if err := p.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	if got := p.status(t); got != 4 {
		t.Errorf("status %d\n%s", got, &p.stderr)
	}
}

// A program for a lab is looked up in its caller's PATH, not in that of the topology's process.
func TestExecLooksUp(t *testing.T) {
	b := newBench(t)
	t.Parallel()
	b.lab(t, "up", "-n", "bridge").end(t, 0)
	bin := filepath.Join(t.TempDir(), "bin")
	program(t, filepath.Join(bin, "weir-test-mine"), "echo mine\n")
	p := start(t, append(b.env, "PATH="+bin+":"+os.Getenv("PATH")), "lab", "exec", "h1", "weir-test-mine")
	p.end(t, 0)
	if p.stdout.String() != "mine\n" {
		t.Errorf("it printed %q\n%s", &p.stdout, &p.stderr)
	}
	b.lab(t, "down").end(t, 0)
	eventually(t, "nothing is left", func() bool { return len(b.left()) == 0 })
}
