package probe

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/sample"
)

// TestIperf3Live runs the command lines on loopback, with the iperf3 that is
// installed: a second for each protocol.
func TestIperf3Live(t *testing.T) {
	if testing.Short() {
		t.Skip("short: it measures for 2 s")
	}
	if _, err := exec.LookPath("iperf3"); err != nil {
		t.Skipf("iperf3: not found: install the package iperf3 (Debian, Ubuntu)")
	}
	for name, p := range map[string]Iperf3{
		"tcp": {Streams: 2, Rate: 100e6},
		"udp": {UDP: true, Rate: 10e6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Window{Server: freePort(t), Duration: 500 * time.Millisecond}
			server, client := p.Commands(w)
			var out bytes.Buffer
			s := exec.CommandContext(t.Context(), server[0], server[1:]...)
			s.Stdout = &out
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
			awaitListener(t, w.Server.Port())
			printed, err := exec.CommandContext(t.Context(), client[0], client[1:]...).Output()
			if err != nil {
				t.Fatalf("%v: %s", err, printed)
			}
			if err := s.Wait(); err != nil {
				t.Fatalf("server: %v: %s", err, &out)
			}
			m, err := p.Parse(Output{Client: printed, Server: out.Bytes()})
			if err != nil {
				t.Fatalf("%v\n%s", err, printed)
			}
			checkMeasured(t, m, err)
			if v := m.Values[0]; v.Value <= 0 || v.Value > 1.5*float64(p.Rate) {
				t.Errorf("%s = %v %s, sent at %v bit/s", v.Name, v.Value, v.Unit, p.Rate)
			}
		})
	}
}

func freePort(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// awaitListener looks until the server listens, without connecting to it: it
// would take the connection for its only client.
func awaitListener(t *testing.T, port uint16) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-tick.C {
		if ok, err := sample.Listening(os.DirFS("/"), "tcp", port); err != nil {
			t.Fatal(err)
		} else if ok {
			return
		}
	}
	t.Fatalf("nothing listens on port %d", port)
}
