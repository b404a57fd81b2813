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
	"strconv"
	"strings"
	"testing"
	"time"
)

// A recording is where the output of one tool is, and which probe made a case of it.
type recording struct {
	tool string
	of   func(name string) Probe // name is VERSION-CASE
}

// recordings of foreign tools. The command lines are in the .cmd files beside the
// output; one that is truncated was cut by hand.
var recordings = []recording{
	{"iperf3", func(n string) Probe { return iperf3For(n) }},
	{"iperf", func(n string) Probe {
		switch {
		case has(n, "bounceback"):
			return Iperf2Bounceback{}
		case has(n, "no-such-cc"):
			return Iperf2{CC: "bogus"}
		case has(n, "udp-lossy"):
			return Iperf2{UDP: true, Size: 1400}
		case has(n, "udp-streams"):
			return Iperf2{UDP: true, Size: 100, Rate: 10e6, Streams: 3}
		case has(n, "udp-small"):
			return Iperf2{UDP: true, Size: 18}
		case has(n, "udp"):
			return Iperf2{UDP: true, Rate: 20e6}
		case has(n, "tcp-streams"):
			return Iperf2{Streams: 3, Rate: 300e6}
		}
		return Iperf2{}
	}},
	{"nuttcp", func(n string) Probe {
		switch {
		case has(n, "udp-lossy"):
			return Nuttcp{UDP: true}
		case has(n, "udp-streams"):
			return Nuttcp{UDP: true, Streams: 2, Size: 100}
		case has(n, "udp"):
			return Nuttcp{UDP: true, Rate: 20e6}
		case has(n, "tcp-streams"):
			return Nuttcp{Streams: 2}
		}
		return Nuttcp{}
	}},
	{"sockperf", func(n string) Probe {
		if has(n, "load") {
			return SockperfLoad{}
		}
		return SockperfRR{TCP: has(n, "tcp")}
	}},
	{"qperf", func(n string) Probe {
		if has(n, "-rr") {
			return QperfRR{UDP: has(n, "udp")}
		}
		return Qperf{UDP: has(n, "udp")}
	}},
	{"netperf", func(n string) Probe {
		if has(n, "rr") {
			return NetperfRR{UDP: has(n, "udp"), Connect: has(n, "crr")}
		}
		return Netperf{UDP: has(n, "udp")}
	}},
	{"fping", func(n string) Probe {
		if has(n, "few") {
			return Fping{Interval: 200e6}
		}
		return Fping{}
	}},
}

func has(name, what string) bool { return strings.Contains(name, what) }

// cases lists what was recorded of a tool.
func (r recording) cases(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(r.dir() + "*.cmd")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no recorded output: %v", r.tool, err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".cmd")
	}
	return files
}

func (r recording) dir() string { return "testdata/" + r.tool + "/" }

// output reads one case; a server that printed nothing has no file.
func (r recording) output(t testing.TB, name string) Output {
	t.Helper()
	read := func(suffix string) (b []byte, err error) {
		for _, ext := range []string{".out", ".json"} {
			if b, err = os.ReadFile(r.dir() + name + suffix + ext); !errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
		return b, err
	}
	client, err := read("")
	if err != nil {
		t.Fatal(err)
	}
	server, err := read(".server")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return Output{Client: client, Server: server}
}

// TestRecorded parses what real versions of the tools printed.
func TestRecorded(t *testing.T) {
	for _, r := range recordings {
		t.Run(r.tool, func(t *testing.T) {
			var b bytes.Buffer
			for _, name := range r.cases(t) {
				fmt.Fprintf(&b, "%s\n", name)
				m, err := r.of(name).Parse(r.output(t, name))
				checkMeasured(t, m, err)
				if err != nil {
					fmt.Fprintf(&b, "  error: %v\n", err)
				}
				for _, v := range m.Values {
					hist := ""
					if v.Hist != "" {
						hist = " with its histogram"
					}
					fmt.Fprintf(&b, "  %s %s %s%s\n", v.Name, strconv.FormatFloat(v.Value, 'g', 6, 64), v.Unit, hist)
				}
				for _, k := range slices.Sorted(maps.Keys(m.Found)) {
					fmt.Fprintf(&b, "  found %s: %s\n", k, m.Found[k])
				}
			}
			golden := r.dir() + "golden.txt"
			if *update {
				if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), want) {
				t.Errorf("%s differs; review the result of -update:\n%s", golden, &b)
			}
		})
	}
}

// Half of an output is no result.
func TestRecordedCut(t *testing.T) {
	for _, r := range recordings {
		for _, name := range r.cases(t) {
			out := r.output(t, name)
			for _, cut := range []int{0, len(out.Client) / 4, len(out.Client) / 2} {
				if m, err := r.of(name).Parse(Output{Client: out.Client[:cut], Server: out.Server}); err == nil {
					t.Errorf("%s/%s: %v from the first %d of %d bytes", r.tool, name, m.Values, cut, len(out.Client))
				}
			}
		}
	}
}

// What was recorded is what the probe runs.
func TestRecordedCommands(t *testing.T) {
	w := Window{Server: netip.MustParseAddrPort("10.64.2.1:5201"), Duration: time.Second}
	for _, r := range recordings {
		for _, name := range r.cases(t) {
			if r.tool == "iperf3" || has(name, "refused") || has(name, "no-such") {
				continue // made by hand
			}
			server, client := r.of(name).Commands(w)
			want := "client: " + strings.Join(client, " ") + "\n"
			if server != nil {
				want = "server: " + strings.Join(server, " ") + "\n" + want
			}
			got, err := os.ReadFile(r.dir() + name + ".cmd")
			if err != nil || string(got) != want {
				t.Errorf("%s/%s: %v\n%sthe probe runs\n%s", r.tool, name, err, got, want)
			}
		}
	}
}

// fuzzRecorded feeds a tool's parsers with its recorded output, changed.
func fuzzRecorded(f *testing.F, tool string) {
	i := slices.IndexFunc(recordings, func(r recording) bool { return r.tool == tool })
	r := recordings[i]
	names := r.cases(f)
	for i, name := range names {
		out := r.output(f, name)
		f.Add(uint(i), out.Client, out.Server)
	}
	f.Fuzz(func(t *testing.T, i uint, client, server []byte) {
		m, err := r.of(names[i%uint(len(names))]).Parse(Output{Client: client, Server: server})
		checkMeasured(t, m, err)
	})
}

func FuzzIperf3(f *testing.F)   { fuzzRecorded(f, "iperf3") }
func FuzzIperf2(f *testing.F)   { fuzzRecorded(f, "iperf") }
func FuzzNuttcp(f *testing.F)   { fuzzRecorded(f, "nuttcp") }
func FuzzSockperf(f *testing.F) { fuzzRecorded(f, "sockperf") }
func FuzzQperf(f *testing.F)    { fuzzRecorded(f, "qperf") }
func FuzzNetperf(f *testing.F)  { fuzzRecorded(f, "netperf") }
func FuzzFping(f *testing.F)    { fuzzRecorded(f, "fping") }
