package main

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"
)

// The Go runtime's monitor wakes up 100 times a second next to a thread that measures, but thousands of
// times next to one that tells it of its system calls (internal/engine/sock/hot.go), which a result would charge
// to the network.
func TestEngineIsQuiet(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	rate := func(p *os.Process, threads int) float64 {
		begin, before := time.Now(), switches(t, p.Pid)
		time.Sleep(time.Second / 2) // the time in which they are counted
		n := others(threads, before, switches(t, p.Pid))
		return float64(n) / time.Since(begin).Seconds()
	}
	server, line := startUntilLine(t, "engine", "serve", "127.0.0.1:0", "--open", "--json")
	addr := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).FindString(line)
	if addr == "" {
		t.Fatalf("the server says %q", line)
	}
	// A program that has just started is busy.
	eventually(t, "the threads of a server that waits go to sleep at most 15 times per second", func() bool { return rate(server, 0) <= 15 })
	for _, workload := range []string{"tcp-stream", "tcp-rr", "udp-rr", "udp-stream", "udp-open"} {
		args := []string{"engine", "run", workload, addr, "--duration", "3s", "--json"}
		if workload == "udp-open" {
			args = append(args, "--rate", "5000")
		}
		client, _ := startUntilLine(t, args...) // the window begins
		for end, p := range map[string]*os.Process{"server": server, "client": client} {
			if n := rate(p, 1); n > 1000 {
				t.Errorf("the %s of %s: threads that do not measure went to sleep %.0f times per second: want at most 1000", end, workload, n)
			}
		}
		_ = client.Kill()
	}
}

// startUntilLine starts weir, waits for its first line of output, and ends it with the test.
func startUntilLine(t *testing.T, args ...string) (*os.Process, string) {
	t.Helper()
	cmd := weir("WEIR_TEST_MARK="+t.TempDir(), args...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("weir %v says %q, %v", args, line, err)
	}
	return cmd.Process, line
}

// switches returns how often each thread of a process has gone to sleep (voluntary_ctxt_switches, proc_pid_status(5)).
func switches(t *testing.T, pid int) map[string]int64 {
	t.Helper()
	tasks, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/status")
	if err != nil || len(tasks) == 0 {
		t.Fatalf("process %d has %d threads, %v", pid, len(tasks), err)
	}
	all := map[string]int64{}
	for _, name := range tasks {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		_, b, _ = bytes.Cut(b, []byte("\nvoluntary_ctxt_switches:"))
		b, _, _ = bytes.Cut(b, []byte("\n"))
		if all[name], err = strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64); err != nil {
			t.Fatal(name, err)
		}
	}
	return all
}

// others returns the sum of the differences without those of the threads that slept most.
func others(without int, before, after map[string]int64) (sum int64) {
	var grown []int64
	for name, n := range after {
		grown = append(grown, n-before[name])
	}
	slices.Sort(grown)
	for _, n := range grown[:max(len(grown)-without, 0)] {
		sum += n
	}
	return sum
}
