package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/weir-bench/weir/internal/engine/event"
)

// Ctrl-C ends either end of a manual measurement with status 4 and one line, and the other end
// notices.
func TestEngineInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	for _, workload := range []string{"tcp-stream", "udp-rr"} {
		dir := t.TempDir()
		token := filepath.Join(dir, "token")
		if err := os.WriteFile(token, []byte("the-token-of-this-test\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		says := filepath.Join(dir, "server.out")
		out, err := os.Create(says)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		said := func(pattern string) string {
			var found string
			eventually(t, "the server says "+pattern, func() bool {
				b, _ := os.ReadFile(says)
				found = regexp.MustCompile(pattern).FindString(string(b))
				return found != ""
			})
			return found
		}
		server := &process{mark: "WEIR_TEST_MARK=" + dir}
		server.Cmd = weir(server.mark, "engine", "serve", "127.0.0.1:0", "--token-file", token, "--marks")
		server.Stdout, server.Stderr = out, &server.stderr
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Process.Kill() })
		addr := said(`127\.0\.0\.1:[0-9]+`)
		run := func() *process {
			return start(t, nil, "engine", "run", workload, addr, "--token-file", token, "--cc", "reno", "--duration", "1h")
		}

		client := run()
		said(event.MarkBegin)
		end(t, client, syscall.SIGINT, 4, "interrupted by signal 2")
		said(event.MarkEnd)

		if err := os.Truncate(says, 0); err != nil {
			t.Fatal(err)
		}
		client = run()
		said(event.MarkBegin)
		end(t, server, syscall.SIGINT, 4, "interrupted by signal 2")
		if got := client.status(t); got != 1 || !strings.Contains(client.stderr.String(), addr) {
			t.Errorf("%s without its server: status %d, want 1 and the address\n%s", workload, got, &client.stderr)
		}
	}
}

func end(t *testing.T, p *process, sig syscall.Signal, status int, text string) {
	t.Helper()
	if err := p.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	if got := p.status(t); got != status {
		t.Errorf("status %d, want %d", got, status)
	}
	if said := p.stderr.String(); !strings.Contains(said, text) || strings.Count(said, "\n") != 1 {
		t.Errorf("stderr is %q, want one line with %q", said, text)
	}
}
