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
	quiet := func(name string, pid, threads, most int) {
		t.Helper()
		begin, before := time.Now(), switches(t, pid)
		time.Sleep(time.Second / 2) // the time in which they are counted
		n := others(threads, before, switches(t, pid))
		if rate := float64(n) / time.Since(begin).Seconds(); rate > float64(most) {
			t.Errorf("%s: threads that do not measure went to sleep %.0f times per second: want at most %d", name, rate, most)
		}
	}
	server := weir("WEIR_TEST_MARK="+t.TempDir(), "engine", "serve", "127.0.0.1:0", "--open", "--json")
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	addr := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).FindString(line)
	if addr == "" {
		t.Fatalf("the server says %q, %v", line, err)
	}
	quiet("a server that waits", server.Process.Pid, 0, 100)
	for _, workload := range []string{"tcp-stream", "tcp-rr", "udp-rr", "udp-stream", "udp-open"} {
		args := []string{"engine", "run", workload, addr, "--duration", "3s", "--json"}
		if workload == "udp-open" {
			args = append(args, "--rate", "5000")
		}
		client := weir("WEIR_TEST_MARK="+t.TempDir(), args...)
		out, err := client.StdoutPipe()
		if err == nil {
			err = client.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		said := bufio.NewReader(out)
		if line, err := said.ReadString('\n'); err != nil { // the window begins
			t.Fatalf("%s says %q, %v", workload, line, err)
		}
		quiet("the server of "+workload, server.Process.Pid, 1, 1000)
		quiet("the client of "+workload, client.Process.Pid, 1, 1000)
		_ = client.Process.Kill()
		_ = client.Wait()
	}
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
