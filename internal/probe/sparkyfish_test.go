package probe

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/record"
)

func readSparkyfish(t testing.TB, name string) Output {
	t.Helper()
	client, err := os.ReadFile("testdata/sparkyfish/" + name + ".out")
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile("testdata/sparkyfish/" + name + ".server.err")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return Output{Client: client, ServerErr: log}
}

// The log and the screen of sparkyfish: 11323.1 MB of 2^20 bytes in 10 s.
func TestSparkyfish(t *testing.T) {
	m, err := Sparkyfish{}.Parse(readSparkyfish(t, "f97100e-sparkyfish"))
	checkMeasured(t, m, err)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		name  record.Quantity
		value float64
	}{{"upload", 9055.23 * (1 << 20)}, {"download.sent", 14192.06 * (1 << 20)}, {"rtt", 0.4e-3}} {
		if v := m.Values[i]; v.Name != want.name || math.Abs(v.Value/want.value-1) > 1e-9 {
			t.Errorf("%+v, want %+v", v, want)
		}
	}
	if want := 11323.05 * (1 << 20); math.Abs(m.Moved-want) > 1 {
		t.Errorf("moved %.0f bytes, want %.0f", m.Moved, want)
	}
}

func TestSparkyfishRefuses(t *testing.T) {
	for _, tc := range []struct{ from, old, new, want string }{
		{"f97100e-refused", "", "", "connection refused"},
		{"f97100e-interrupted", "", "", "upload: 0 lines in the server's log, want 1"},
		{"f97100e-sparkyfish", "msg=sent", "msg=send", "download: 0 lines in the server's log"},
		{"f97100e-sparkyfish", "mb=11323.1", "mb=0.0", "upload: nothing arrived"},
		{"f97100e-sparkyfish", "mbps=9055.23", "mbps=9495.10", "11323.1 MB in 10 s are not 9495.1 Mbit/s"},
		{"f97100e-sparkyfish", "duration=10.00s", "duration=1e3s", "upload: 0 lines"},
	} {
		out := readSparkyfish(t, tc.from)
		out.ServerErr = bytes.Replace(out.ServerErr, []byte(tc.old), []byte(tc.new), 1)
		m, err := Sparkyfish{}.Parse(out)
		if err == nil || !strings.Contains(err.Error(), tc.want) || m.Values != nil {
			t.Errorf("%s, %q: %v, %v, want an error with %q", tc.from, tc.new, m.Values, err, tc.want)
		}
	}
}

func TestSparkyfishCommands(t *testing.T) {
	server, client := Sparkyfish{}.Commands(Window{Server: netip.MustParseAddrPort("[fd77::2]:5201")})
	if want := []string{"sparkyfish-server", "-listen-addr", "[fd77::2]:5201"}; !slices.Equal(server, want) {
		t.Errorf("server %q, want %q", server, want)
	}
	if want := []string{"weir", "host", "pty", "100x40", "q", "[r]etest", "Press q to quit", "--", "sparkyfish", "[fd77::2]:5201"}; !slices.Equal(client, want) {
		t.Errorf("client %q, want %q", client, want)
	}
}

func FuzzSparkyfish(f *testing.F) {
	for _, name := range []string{"f97100e-sparkyfish", "f97100e-interrupted", "f97100e-refused"} {
		out := readSparkyfish(f, name)
		f.Add(out.Client[max(0, len(out.Client)-20000):], out.ServerErr)
	}
	f.Fuzz(func(t *testing.T, client, log []byte) {
		m, err := Sparkyfish{}.Parse(Output{Client: client, ServerErr: log})
		checkMeasured(t, m, err)
	})
}
