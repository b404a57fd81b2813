package main

import (
	"net"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/record"
)

// needTools skips a test of a probe whose programs are missing, which CI installs.
func needTools(t *testing.T, p probe.Probe) {
	t.Helper()
	for _, tool := range p.Info().Tools {
		if err := tool.Missing(); err != nil {
			t.Skip(err)
		}
	}
}

// busy returns the process of p that runs a program, by the end of its path and the first of its arguments, and has used CPU
// time: one that was only asked for its version has not.
func (p *process) busy(t *testing.T, program string) (pid int) {
	t.Helper()
	return p.running(t, program, func(pid int, cmdline string) bool {
		name, args, _ := strings.Cut(cmdline, " ")
		return strings.HasPrefix(filepath.Base(name)+" "+args, program+" ") && cpuTicks(pid) > 20 // 0.2 s
	})
}

// A server that is killed in the middle of a trial fails it, with its last words if it had any.
func TestServerDies(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for name, c := range map[string]struct{ program, said string }{
		"grpc-rr":   {"weir engine serve", `on h2: h2: weir: signal: killed`},
		"quic-rr":   {"weir engine serve", `on h2: h2: weir: signal: killed`},
		"memcached": {"memcached", `server: h2: weir: exit status 137`},
		"nats":      {"nats-server", `server: h2: weir: exit status 137: .*\[INF\] Server is ready`},
	} {
		t.Run(name, func(t *testing.T) {
			needTools(t, catalog.Probes[name]())
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "out")
			p := start(t, nil, "run", "-n", "host", "-p", name, "--blocks", "1", "--duration", "5s", "--warmup", "0s", "--keep-disturbed", "-o", dir)
			if err := syscall.Kill(p.busy(t, c.program), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if got := p.status(t); got != int(failure.Check) && got != int(failure.Environment) { // an engine is not started again for no trial
				t.Errorf("status %d\n%s", got, &p.stderr)
			}
			for _, r := range results(t, dir) {
				if r.Status != record.Failed || !regexp.MustCompile(c.said).MatchString(r.Reason) {
					t.Errorf("%s: %q, want failed: %q", r.Status, r.Reason, c.said)
				}
			}
		})
	}
}

// A server whose port another program has ends with words by which package trial knows that, and tries another port where it may.
func TestServersLackPort(t *testing.T) {
	needLab(t)
	for _, name := range []string{"grpc-rr", "memcached", "nats", "nginx-http", "quic-rr", "unbound-dns"} {
		t.Run(name, func(t *testing.T) {
			pr := catalog.Probes[name]()
			needTools(t, pr)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			argv, _ := pr.Commands(probe.Window{Server: netip.MustParseAddrPort(l.Addr().String()), Duration: time.Second})
			p := start(t, nil, argv[1:]...)
			if got := p.status(t); got == 0 || !regexp.MustCompile(`(?i)address (already )?in use`).MatchString(p.stdout.String()+p.stderr.String()) {
				t.Errorf("status %d, want one that says why:\n%s%s", got, &p.stdout, &p.stderr)
			}
		})
	}
}
