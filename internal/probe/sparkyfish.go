package probe

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/record"
)

// Sparkyfish measures bulk throughput in both directions and TCP echo times with sparkyfish
// (chrissnell/sparkyfish, as of 2026). Its run has a fixed length: 30 echoes, a tenth of a second
// apart, and 10 s per direction. The client draws on a terminal of at least 60 × 24 and waits for a
// key; the server writes a log.
type Sparkyfish struct{}

func (Sparkyfish) Info() Info {
	const (
		source = "make sparkyfish"
		takes  = 24 * time.Second
	)
	version := []string{"--version"}
	return Info{
		Title: "TCP both ways (sparkyfish)", Short: "sparkyfish", Unit: "bit/s",
		About:  "TCP throughput in both directions and the time of an echo, by sparkyfish; takes 24 s",
		Method: "Ten seconds in each direction, random data. weir counts what the server received.",
		Tools: []facts.ToolInfo{
			{Program: "sparkyfish-server", Package: source, VersionArgs: version, Version: `sparkyfish-server (\S+)`},
			{Program: "sparkyfish", Package: source, VersionArgs: version, Version: `sparkyfish (\S+)`}},
		Measures: tcpThroughput,
		Differs:  "a fixed window of 10 s that includes the slow start; the machine's congestion control; Go copies at most 32 KiB per write and 8 KiB per read",
		NoWarmup: true, StartsLate: true, Takes: takes, AtMost: takes,
	}
}

// Commands implements Probe. It ignores the window's times.
func (Sparkyfish) Commands(w Window) (server, client []string) {
	return []string{"sparkyfish-server", "-listen-addr", w.Server.String()},
		[]string{"weir", "host", "pty", "100x40", "q", "[r]etest", "Press q to quit", "--", "sparkyfish", w.call().String()}
}

// The server's log lines about both directions (throughput.go), and the client's screen about
// echoes and failures (model.go).
var (
	sparkyReceived = regexp.MustCompile(`(?m) msg=received addr=\S+ mb=([0-9.]{1,20}) duration=([0-9.]{1,20})s mbps=([0-9.]{1,20})$`)
	sparkySent     = regexp.MustCompile(`(?m) msg=sent addr=\S+ mb=([0-9.]{1,20}) duration=([0-9.]{1,20})s mbps=([0-9.]{1,20})$`)
	sparkyRTT      = regexp.MustCompile(`[^0-9./]([0-9]{1,9}\.[0-9]{2})/[0-9]{1,9}\.[0-9]{2} ms`)
	sparkyError    = regexp.MustCompile(`Error: ([^\r\n\x1b]{1,300})`)
)

// Parse reads upload (bit/s, as the server received it), download.sent (bit/s, as the server handed
// it to its kernel: the client alone knows what arrived, and draws it next to a similar line) and
// rtt (s, mean of the echoes in steps of 10 µs; missing if it is shorter).
func (Sparkyfish) Parse(out Output) (Measured, error) {
	if m := sparkyError.FindSubmatch(out.Client); m != nil {
		return Measured{}, fmt.Errorf("sparkyfish: %s", bytes.TrimSpace(m[1]))
	}
	upload, bytes, err := sparkyRate(sparkyReceived, out.ServerErr)
	if err != nil {
		return Measured{}, fmt.Errorf("sparkyfish: upload: %w", err)
	}
	download, _, err := sparkyRate(sparkySent, out.ServerErr)
	if err != nil {
		return Measured{}, fmt.Errorf("sparkyfish: download: %w", err)
	}
	m := Measured{Protocol: "tcp", Moved: bytes, Values: []record.Value{
		{Name: record.Upload, Unit: "bit/s", Value: upload},
		{Name: record.DownloadSent, Unit: "bit/s", Value: download},
	}}
	if all := sparkyRTT.FindAllSubmatch(out.Client, -1); all != nil { // the last one covers all echoes
		if ms := digits(all[len(all)-1][1]); ms > 0 {
			m.Values = append(m.Values, record.Value{Name: record.RTT, Unit: "s", Value: ms / 1e3})
		}
	}
	return m, nil
}

// sparkyRate returns bit/s, and bytes less half of the last printed digit. The server's megabytes
// and megabits are 2^20 bytes and bits.
func sparkyRate(re *regexp.Regexp, log []byte) (rate, bytes float64, err error) {
	lines := re.FindAllSubmatch(log, -1)
	if len(lines) != 1 {
		return 0, 0, fmt.Errorf("%d lines in the server's log, want 1: it was interrupted, or this is another version", len(lines))
	}
	f, err := numbers(lines[0][1:])
	if err != nil {
		return 0, 0, err
	}
	mb, seconds, mbps := f[0].value, f[1].value, f[2].value
	if mb <= 0.05 || seconds <= 0.005 || mbps <= 0 {
		return 0, 0, errors.New("nothing arrived")
	}
	// mbps has more digits than mb and seconds, which must agree with it.
	if least, most := (mb-0.05)*8/(seconds+0.005), (mb+0.05)*8/(seconds-0.005); mbps < least-0.005 || mbps > most+0.005 {
		return 0, 0, fmt.Errorf("%g MB in %g s are not %g Mbit/s", mb, seconds, mbps)
	}
	return mbps * (1 << 20), (mb - 0.05) * (1 << 20), nil
}
