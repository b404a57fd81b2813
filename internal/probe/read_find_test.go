package probe

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Whatever a collector puts in front of the lines, the output says the same.
func TestReadPrefixed(t *testing.T) {
	all := outputs(t)
	for _, name := range []string{"read/iperf3-3.12-tcp.txt", "iperf3/3.12-tcp-streams.json", "read/iperf-2.1.8-tcp.txt", "read/netperf-2.7-tcp-rr.txt", "read/sockperf-3.7-full-rtt.txt", "read/nuttcp-6.1.2-verbose.txt", "read/qperf-0.4.11-bits.txt", "read/osu-7.4-sizes.txt", "read/fping-5.1-both.txt", "read/ping-macos.txt"} {
		want, err := Read(all[name], "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, prefix := range []string{"2026-11-27T02:00:0%d.123456789Z ", "[pod/iperf-7d9f/client] ", "Nov  %d 02:00:00 node-1 docker[812]: ", "web_1  | ", "[2026-11-27 02:00:0%d,123] INFO - ", "I1127 02:00:0%d.123456       1 main.go:42] ", "02:00:0%d ", "(sim) 27 Nov 2026 02:00:0%d +0100: ", "[   0%d.123456] ", "> ", "\t"} {
			var b bytes.Buffer
			fmt.Fprintln(&b, "+ run the test")
			for i, line := range strings.SplitAfter(strings.TrimSuffix(string(all[name]), "\n"), "\n") {
				at := prefix
				if strings.Contains(prefix, "%d") {
					at = fmt.Sprintf(prefix, i%10)
				}
				b.WriteString(at + line)
			}
			b.WriteByte('\n')
			if got, err := Read(b.Bytes(), ""); err != nil || describe(got, nil) != describe(want, nil) {
				t.Errorf("%s after %q: %v\n%s\nwant\n%s", name, prefix, err, describe(got, nil), describe(want, nil))
			}
		}
	}
}

// The outputs of two sources in one log are two results, also if their lines alternate.
func TestReadSources(t *testing.T) {
	got := unprefixed([]byte("a | Connecting to host x, port 1\nb | Connecting to host y, port 1\na | 1\nnoise\nb | 2\na |\n"))
	if len(got) != 2 || string(got[0]) != "Connecting to host x, port 1\n1\n\n" || string(got[1]) != "Connecting to host y, port 1\n2\n" {
		t.Errorf("%q", got)
	}
	if got := unprefixed([]byte("Connecting to host x, port 1\n> Connecting to host y, port 1\n")); len(got) != 1 || !bytes.Contains(got[0], []byte("> ")) {
		t.Errorf("a text whose lines have no prefix: %q", got)
	}
}

func FuzzUnprefixed(f *testing.F) {
	f.Add([]byte("2026-11-27T02:00:00Z Connecting to host x, port 1\n"))
	f.Add([]byte("a | PING 10.0.0.1 (10.0.0.1)\nb | # OSU \n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		for _, text := range unprefixed(b) {
			n += len(text)
		}
		if n > len(b)+bytes.Count(b, []byte("\n")) {
			t.Errorf("%d bytes of %d", n, len(b))
		}
	})
}

func FuzzSearch(f *testing.F) {
	for name, b := range outputs(f) {
		if strings.HasPrefix(name, "read/") && len(b) < 10_000 && bytes.Contains(b, []byte("{")) {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		found, err := search(b)
		for _, raw := range found.documents {
			if err == nil && (len(raw) == 0 || raw[0] != '{') {
				t.Errorf("a document %q", raw)
			}
		}
	})
}

func FuzzReadPing(f *testing.F) {
	for name, b := range outputs(f) {
		if strings.HasPrefix(name, "read/ping-") {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := readPing(b)
		if (err == nil) != (len(all) > 0) {
			t.Fatalf("%d statements, error %v", len(all), err)
		}
		for _, r := range all {
			checkMeasured(t, r.Measured, nil)
		}
	})
}
