package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var mpiProbes = map[string]MPI{
	"NPopenmpi": {}, "osu_latency": {Tool: "osu"}, "osu_bw": {Tool: "osu", Bandwidth: true},
}

func mpiFor(name string) Probe {
	p, ok := mpiProbes[filepath.Dir(name)]
	if !ok {
		return NetPIPE{}
	}
	p.Bandwidth = p.Bandwidth || strings.HasSuffix(name, "-bandwidth")
	return p
}

func mpiCases(t testing.TB) (names []string) {
	t.Helper()
	for _, dir := range append(slices.Sorted(maps.Keys(mpiProbes)), "NPtcp") {
		files, err := filepath.Glob("testdata/" + dir + "/*.cmd")
		if err != nil || len(files) == 0 {
			t.Fatalf("no recorded output of %s: %v", dir, err)
		}
		for _, f := range files {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(f, "testdata/"), ".cmd"))
		}
	}
	return names
}

func readMPI(t testing.TB, name string) Output {
	t.Helper()
	var out Output
	var err error
	if out.Client, err = os.ReadFile("testdata/" + name + ".out"); err != nil {
		t.Fatal(err)
	}
	if out.ClientErr, err = os.ReadFile("testdata/" + name + ".err"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}

// A rank that runs alone also prints a result: only the devices' counters reveal that nothing
// crossed the network (see TestRun of package trial).
func TestMPIGolden(t *testing.T) {
	var b bytes.Buffer
	for _, name := range mpiCases(t) {
		fmt.Fprintf(&b, "%s\n", name)
		m, err := mpiFor(name).Parse(readMPI(t, name))
		checkMeasured(t, m, err)
		if err != nil {
			fmt.Fprintf(&b, "  error: %v\n", err)
			continue
		}
		for _, v := range m.Values {
			fmt.Fprintf(&b, "  %s %.6g %s\n", v.Key(), v.Value, v.Unit)
		}
		fmt.Fprintf(&b, "  moved %.0f bytes in %.0f messages over %s\n", m.Moved, m.Messages, m.Protocol)
		if tool := m.Observed["tool"]; tool != "" {
			fmt.Fprintf(&b, "  found tool: %s\n", tool)
		}
	}
	checkGolden(t, "testdata/mpi.golden", b.Bytes())
}

func TestMPICommands(t *testing.T) {
	w := Window{Server: netip.MustParseAddrPort("10.64.2.1:5201"), Client: netip.MustParseAddr("10.64.1.1"),
		Devices: []string{"eth0"}, Shell: []string{"/proc/1/exe", "host", "rsh", "1", "/proc/1/fd/9"}, Dir: "/proc/1/fd/7"}
	remote := Window{Server: w.Server, Client: w.Client, Devices: []string{"eth0", "ens3"}}
	const (
		openmpi = "mpirun.openmpi --allow-run-as-root -np 2 -host 10.64.1.1,10.64.2.1 --map-by node --bind-to none --leave-session-attached"
		tcp     = " --mca pml ob1 --mca btl tcp,self"
	)
	for _, tc := range []struct {
		p              Probe
		w              Window
		server, client string
	}{
		{MPI{}, w, "", openmpi + " --mca plm_rsh_agent /proc/1/exe host rsh 1 /proc/1/fd/9" + tcp +
			" --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 --mca mpi_yield_when_idle 1 --mca orte_tmpdir_base /proc/1/fd/7" +
			" NPopenmpi -l 8 -u 8 -p 0 -n 2000 -o /dev/null"},
		{MPI{Tool: "osu", Bandwidth: true, Program: "/opt/osu_bw"}, remote, "", openmpi + " --mca plm_rsh_agent ssh" + tcp +
			" --mca btl_tcp_if_include eth0,ens3 --mca oob_tcp_if_include eth0,ens3 --mca mpi_yield_when_idle 1" +
			" /opt/osu_bw -m 1048576:1048576 -i 2 -x 1"},
		{MPI{Tool: "osu", Size: 64}, remote, "", openmpi + " --mca plm_rsh_agent ssh" + tcp +
			" --mca btl_tcp_if_include eth0,ens3 --mca oob_tcp_if_include eth0,ens3 --mca mpi_yield_when_idle 1" +
			" osu_latency -m 64:64 -i 2000 -x 201"},
		{NetPIPE{Bandwidth: true}, w, "NPtcp -P 5201 -l 1048576 -u 1048576 -p 0 -n 32 -o /dev/null",
			"NPtcp -P 5201 -l 1048576 -u 1048576 -p 0 -n 32 -o /dev/null -h 10.64.2.1"},
	} {
		server, client := tc.p.Commands(tc.w)
		if got := strings.Join(server, " "); got != tc.server {
			t.Errorf("%+v: server\n got %s\nwant %s", tc.p, got, tc.server)
		}
		if got := strings.Join(client, " "); got != tc.client {
			t.Errorf("%+v: client\n got %s\nwant %s", tc.p, got, tc.client)
		}
	}
	if ts := (MPI{}).Info().Tools; len(ts) != 2 || ts[0].Package != "openmpi-bin" || ts[1].Package != "netpipe-openmpi" {
		t.Errorf("wrong tools %+v", ts)
	}
}

func TestMPICheck(t *testing.T) {
	for _, tc := range []struct {
		p    MPI
		want string // "" is no error
	}{
		{MPI{}, ""},
		{MPI{Tool: "osu", Size: 3}, ""},
		{MPI{Tool: "imb"}, `tool: "imb" is not one of netpipe, osu`},
		{MPI{Size: -1}, "size: -1 is outside 1.."},
		{MPI{Size: 1 << 29}, "size: 536870912 is outside 1..268435456 bytes"},
	} {
		if err := tc.p.Check(); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.p, err, tc.want)
		}
	}
}

func TestMPIRefuses(t *testing.T) {
	const np, osu = "NPopenmpi/3.7.2-mpi-latency", "osu_bw/7.4-osu-bandwidth"
	for _, tc := range []struct{ from, old, new, want string }{
		{np, "       8 bytes", "      12 bytes", "measured messages of 12 bytes, asked for 8"},
		{np, "2000 times", "1999 times", "measured 1999 messages, asked for 2000"},
		{np, " usec", " msec", "0 result lines, want 1"},
		{np, "Mbps in", "Gbps in", "0 result lines, want 1"},
		{np, "0.72 Mbps", "9.72 Mbps", "not 1.01922e+07"},
		{np, "in      84.77", "in       0.00", "a message took 0 s"},
		{np, "84.77 usec\n", "84.77 usec\n  1:       8 bytes   2000 times -->      0.72 Mbps in      84.77 usec\n", "2 result lines, want 1"},
		{osu, "Bandwidth Test", "Bi-Directional Bandwidth Test", "is not from the OSU MPI Bandwidth Test"},
		{osu, "\n1048576", "\n# 1048576", "0 result lines, want 1"},
	} {
		out := readMPI(t, tc.from)
		client, stderr := bytes.Replace(out.Client, []byte(tc.old), []byte(tc.new), 1), bytes.Replace(out.ClientErr, []byte(tc.old), []byte(tc.new), 1)
		if bytes.Equal(client, out.Client) && bytes.Equal(stderr, out.ClientErr) {
			t.Fatalf("%s has no %q", tc.from, tc.old)
		}
		m, err := mpiFor(tc.from).Parse(Output{Client: client, ClientErr: stderr})
		if err == nil || !strings.Contains(err.Error(), tc.want) || m.Values != nil {
			t.Errorf("%s: %q for %q: %v, %v, want an error with %q", tc.from, tc.new, tc.old, m.Values, err, tc.want)
		}
	}
}

// The time of a fast message has two digits, so the bandwidth differs from that of the printed time.
func TestMPIRounds(t *testing.T) {
	const line = "  0: %7d bytes %6d times --> %9s Mbps in %10s usec\n"
	for _, tc := range []struct {
		size       int
		rate, half string
		ok         bool
	}{
		{8, "176.40", "0.35", true}, // 0.346 µs, over shared memory
		{8, "176.91", "0.35", true}, // 0.345 µs
		{8, "176.93", "0.35", false},
		{8, "171.93", "0.35", true}, // 0.355 µs
		{8, "171.91", "0.35", false},
		{8, "6103.52", "0.01", true},
		{1, "0.00", "4926.81", true}, // 0.0015 Mbps
		{1, "0.01", "4926.81", false},
		{1 << 20, "1623.77", "4926.81", true},
		{1 << 20, "1623.79", "4926.81", false},
	} {
		_, err := NetPIPE{Size: tc.size}.Parse(Output{ClientErr: fmt.Appendf(nil, line, tc.size, messages(tc.size), tc.rate, tc.half)})
		if (err == nil) != tc.ok {
			t.Errorf("NetPIPE: %d bytes at %s Mbps in %s µs: %v", tc.size, tc.rate, tc.half, err)
		}
	}
}

func FuzzMPI(f *testing.F) {
	for _, name := range mpiCases(f) {
		out, p := readMPI(f, name), mpiFor(name)
		m, _ := p.(MPI)
		f.Add(m.Tool, m.Bandwidth, out.Client, out.ClientErr)
	}
	f.Fuzz(func(t *testing.T, tool string, bandwidth bool, client, stderr []byte) {
		p := MPI{Tool: tool, Bandwidth: bandwidth}
		if p.Check() != nil {
			return // no such probe
		}
		m, err := p.Parse(Output{Client: client, ClientErr: stderr})
		checkMeasured(t, m, err)
		if err == nil && (m.Moved <= 0 || m.Messages <= 0) {
			t.Errorf("%.0f bytes in %.0f messages prove nothing", m.Moved, m.Messages)
		}
	})
}
