package imported

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/weir-bench/weir/internal/probe"
)

const recorded = "../probe/testdata/"

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(recorded + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func utf16le(b []byte) []byte {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(string(b))) {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return out
}

// An output is the same result in every encoding that Windows and terminals give it.
func TestText(t *testing.T) {
	for _, name := range []string{"iperf3/3.12-tcp.json", "osu_latency/7.4-osu-latency.out", "read/netperf-2.7-udp-stream.txt", "sockperf/3.7-rr.out", "read/iperf-2.1.8-udp.txt"} {
		b := read(t, name)
		crlf := bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
		var want string
		for i, c := range [][]byte{b, crlf, append([]byte{0xef, 0xbb, 0xbf}, b...), append([]byte{0xef, 0xbb, 0xbf}, crlf...), utf16le(crlf)} {
			text, err := Text(c)
			if err != nil {
				t.Fatalf("%s, form %d: %v", name, i, err)
			}
			all, err := probe.Read(text, "")
			if err != nil {
				t.Fatalf("%s, form %d: %v", name, i, err)
			}
			if got := fmt.Sprint(all[0].Kind, all[0].Levels, all[0].Values); i == 0 {
				want = got
			} else if got != want {
				t.Errorf("%s, form %d: %s, want %s", name, i, got, want)
			}
		}
	}
	for _, bad := range [][]byte{{0xff, 0xfe, 'a'}, []byte("a\x00b")} {
		if _, err := Text(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestTemplate(t *testing.T) {
	for _, tc := range []struct{ template, path, want string }{
		{"{network}/{probe}-{n}.json", "lab/calico/dts-3.json", "calico dts map[]"},
		{"{network}/{n}/{probe}-client.stdout", "results/calico-ebpf/1/dtm-client.stdout", "calico-ebpf dtm map[]"},
		{"results/{network}/mtu{mtu}-{n}", "results/flannel/mtu1450-2", "flannel  map[mtu:1450]"},
		{"{network}-{n}.json", "a/kube-ovn-2.json", "kube ovn-2"},
		{"results/{network}/{n}.json", "my-results/calico/1.json", ""},
		{"{network}/{n}/knb-client-{probe}-{path}-{n}.log", "calico/3/knb-client-tcp-p2p-19565.log", "calico tcp map[path:p2p]"},
		{"{network}.json", "calico.json.bak", ""},
		{"{network}.json", "calico-json", ""},
	} {
		tp, err := ParseTemplate(tc.template)
		if err != nil {
			t.Fatal(err)
		}
		p, ok := tp.Assign(tc.path)
		got := ""
		if ok {
			got = fmt.Sprint(p.Network, " ", p.Probe, " ", p.Levels)
		}
		if tc.want == "kube ovn-2" { // the last part takes what is left: names with the separator need another template
			if p.Network != "kube" {
				t.Errorf("%s of %s: network %q", tc.template, tc.path, p.Network)
			}
		} else if got != tc.want {
			t.Errorf("%s of %s: %q, want %q", tc.template, tc.path, got, tc.want)
		}
	}
	for _, bad := range []string{"a.json", "{}.json", "{Network}", "{network", "{block}", "{network}/{network}"} {
		if _, err := ParseTemplate(bad); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func TestAdd(t *testing.T) {
	s := NewSet(Manifest{}, New(), nil, nil)
	b := read(t, "iperf3/3.12-tcp.json")
	results, err := s.Add("dir/calico-1.json", b, Assignment{Network: "calico"}, "")
	if err != nil {
		t.Fatal(err)
	}
	r := results[0]
	if r.Config["network"] != "calico" || r.Config["probe"] != "iperf3-tcp" || r.Config["streams"] != "1" || r.Observed[Source] != "dir/calico-1.json" ||
		r.Observed["tool"] != "iperf3 3.12" || r.Start.IsZero() || !strings.HasSuffix(r.Trial, "-0001-calico-iperf3-tcp") || !Matches(b, r) {
		t.Errorf("%+v", r)
	}
	for _, tc := range []struct {
		path string
		b    []byte
		at   Assignment
		kind string
		want string
	}{
		{"copy.json", b, Assignment{Network: "flannel"}, "", "the same bytes as dir/calico-1.json"},
		{"dir/calico-1.json", b, Assignment{Network: "calico"}, "", "imported already"},
		{"other.json", read(t, "iperf3/3.12-udp.json"), Assignment{Network: "calico"}, "iperf3-tcp", "a result of iperf3-udp, not of iperf3-tcp"},
		{"udp.json", read(t, "iperf3/3.12-udp.json"), Assignment{Network: "calico", Probe: "iperf3-tcp"}, "", "iperf3-tcp is iperf3-tcp in other files"},
		{"levels.json", read(t, "iperf3/3.9-tcp.json"), Assignment{Network: "calico", Levels: map[string]string{"streams": "1"}}, "", "states itself"},
		{"empty", nil, Assignment{Network: "calico"}, "", "empty"},
		{"words", []byte("hello\n"), Assignment{Network: "calico"}, "", "no output of a known tool"},
	} {
		if _, err := s.Add(tc.path, tc.b, tc.at, tc.kind); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.path, err, tc.want)
		}
	}
	if len(s.Results) != 1 || len(s.Study.Networks) != 1 || len(s.Files) != 1 {
		t.Errorf("a refused file left something: %+v", s)
	}

	// A set that is read again knows its results.
	again := NewSet(s.Manifest, s.Study, s.Probes, s.Results)
	if _, err := again.Add("copy.json", b, Assignment{Network: "flannel"}, ""); err == nil {
		t.Error("the same bytes count twice after reading the set again")
	}
	more, err := again.Add("3.json", read(t, "iperf3/3.9-tcp.json"), Assignment{Network: "flannel"}, "")
	if err != nil || more[0].Block != 2 || len(again.Study.Networks) != 2 || again.Study.Baseline != "calico" {
		t.Errorf("%v, %v, %+v", more, err, again.Study)
	}
}

// A mark has four digits, so further results would not be known again.
func TestManyResults(t *testing.T) {
	line := "  117.3750 MB /   1.00 sec =  984.5922 Mbps 12 %TX 20 %RX 0 retrans 0.20 msRTT\n"
	for n, want := range map[int]string{maxPerFile: "", maxPerFile + 1: "at most 9999"} {
		s := NewSet(Manifest{}, New(), nil, nil)
		_, err := s.Add("a", []byte(strings.Repeat(line, n)), Assignment{Network: "x"}, "")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d results: error %v, want %q", n, err, want)
		}
	}
}

// The network can have chosen the size of iperf3's datagrams, so it makes no cell of its own; two sizes in
// one cell are refused until the user says that it is a factor.
func TestDatagrams(t *testing.T) {
	s := NewSet(Manifest{}, New(), nil, nil)
	small := read(t, "iperf3/3.12-udp-lossy.json")
	large := bytes.ReplaceAll(small, []byte(`"blksize":	1400`), []byte(`"blksize":	1000`))
	if bytes.Equal(small, large) {
		t.Fatal("the recording has another size")
	}
	if _, err := s.Add("a", small, Assignment{Network: "x"}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add("b", large, Assignment{Network: "y"}, ""); err != nil {
		t.Fatal(err)
	}
	third := append(bytes.Clone(large), '\n')
	if _, err := s.Add("c", third, Assignment{Network: "x"}, ""); err == nil || !strings.Contains(err.Error(), "--factor datagram") {
		t.Errorf("error %v", err)
	}
	if r, err := s.Add("c", third, Assignment{Network: "x", Factors: []string{"datagram"}}, ""); err != nil || r[0].Config["datagram"] != "1000" {
		t.Errorf("%v, %v", r, err)
	}
}

func TestAssignmentCheck(t *testing.T) {
	for _, p := range []Assignment{{Network: "a b"}, {Network: "é"}, {Network: "a", Probe: "a/b"}, {Network: "a", Levels: map[string]string{"x": "\x1b[31m"}}} {
		if p.Check() == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
	if err := (Assignment{Network: "calico-ebpf_2.1", Levels: map[string]string{"x": "größe 1"}}).Check(); err != nil {
		t.Error(err)
	}
}

func TestHostileNames(t *testing.T) {
	for in, want := range map[string]string{"../../etc/passwd": "passwd", "..": "output", "a\x1b]0;x\x07b": "a__0_x_b", "/": "output", "dir/.hidden": "hidden"} {
		if got := FileName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := Clean("a\x1b[31m\nb\xff" + strings.Repeat("x", 500)); strings.ContainsAny(got, "\x1b\n") || len(got) > maxShown+10 {
		t.Errorf("%q", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add(read(f, "osu_latency/7.4-osu-latency.out"))
	f.Add(utf16le([]byte("tcp_bw:\r\n    bw  =  9.4 Gb/sec\r\n")))
	f.Fuzz(func(t *testing.T, b []byte) {
		if text, err := Text(b); err == nil && bytes.IndexByte(text, 0) >= 0 {
			t.Error("NUL bytes in a text")
		}
	})
}

func FuzzTemplate(f *testing.F) {
	f.Add("{network}/{n}/{probe}-client.stdout", "results/calico/1/dts-client.stdout")
	f.Fuzz(func(t *testing.T, template, path string) {
		tp, err := ParseTemplate(template)
		if err != nil {
			return
		}
		if p, ok := tp.Assign(path); ok && strings.Contains(p.Network+p.Probe, "/") {
			t.Errorf("%q of %q: %+v", template, path, p)
		}
	})
}
