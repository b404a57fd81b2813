package probe

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/weir-bench/weir/record"
)

// Sparkyfish measures bulk throughput both ways and the time of a TCP echo with
// sparkyfish (chrissnell/sparkyfish, as of 2026). It cannot be told how long:
// 30 echoes, a tenth of a second apart, and 10 s each way. Its client draws on a
// terminal of at least 60 × 24 and waits for a key; its server writes a log.
type Sparkyfish struct{}

// Habits implements the optional method of foreign probes.
func (Sparkyfish) Habits() Habits {
	return Habits{NoWarmup: true, StartsLate: true, Lasts: 24 * time.Second}
}

// Programs is for the function of this name.
func (Sparkyfish) Programs() []string { return []string{"sparkyfish-server", "sparkyfish"} }

// Commands implements Probe. The window's times are not used.
func (Sparkyfish) Commands(w Window) (server, client []string) {
	addr := w.Server.String()
	return []string{"sparkyfish-server", "-listen-addr", addr},
		[]string{"weir", "host", "pty", "100x40", "q", "[r]etest", "Press q to quit", "--", "sparkyfish", addr}
}

// What the server logs of the two directions (throughput.go), what the client
// draws of the echo, and what it draws when it fails (model.go).
var (
	sparkyReceived = regexp.MustCompile(`(?m) msg=received addr=\S+ mb=([0-9.]{1,20}) duration=([0-9.]{1,20})s mbps=([0-9.]{1,20})$`)
	sparkySent     = regexp.MustCompile(`(?m) msg=sent addr=\S+ mb=([0-9.]{1,20}) duration=([0-9.]{1,20})s mbps=([0-9.]{1,20})$`)
	sparkyRTT      = regexp.MustCompile(`[^0-9./]([0-9]{1,9}\.[0-9]{2})/[0-9]{1,9}\.[0-9]{2} ms`)
	sparkyError    = regexp.MustCompile(`Error: ([^\r\n\x1b]{1,300})`)
)

// Parse implements Probe. Values: upload (bit/s), what the server received;
// download.sent (bit/s), what the server handed to its kernel: only the client
// knows what arrived, and draws it beside a like line; rtt (s), the mean of the
// echoes, in steps of 10 µs, missing when it is below.
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
		{Name: "upload", Unit: "bit/s", Value: upload},
		{Name: "download.sent", Unit: "bit/s", Value: download},
	}}
	if all := sparkyRTT.FindAllSubmatch(out.Client, -1); all != nil { // the last one is of all echoes
		ms, err := strconv.ParseFloat(string(all[len(all)-1][1]), 64)
		if err != nil {
			return Measured{}, fmt.Errorf("sparkyfish: rtt: %w", err)
		}
		if ms > 0 {
			m.Values = append(m.Values, record.Value{Name: "rtt", Unit: "s", Value: ms / 1e3})
		}
	}
	return m, nil
}

// sparkyRate returns bit/s, and bytes but for half of the last digit that is
// printed. The server's megabyte is 2^20 bytes, and so are its megabits.
func sparkyRate(re *regexp.Regexp, log []byte) (rate, bytes float64, err error) {
	lines := re.FindAllSubmatch(log, -1)
	if len(lines) != 1 {
		return 0, 0, fmt.Errorf("%d lines of the server's log tell of it, not 1: it was interrupted, or this is another version", len(lines))
	}
	var f [3]float64
	for i, s := range lines[0][1:] {
		if f[i], err = strconv.ParseFloat(string(s), 64); err != nil {
			return 0, 0, err
		}
	}
	mb, seconds, mbps := f[0], f[1], f[2]
	if mb <= 0.05 || seconds <= 0.005 || mbps <= 0 {
		return 0, 0, errors.New("nothing arrived")
	}
	// mbps has more digits than mb and seconds, which must tell the same.
	if least, most := (mb-0.05)*8/(seconds+0.005), (mb+0.05)*8/(seconds-0.005); mbps < least-0.005 || mbps > most+0.005 {
		return 0, 0, fmt.Errorf("%g MB in %g s are not %g Mbit/s", mb, seconds, mbps)
	}
	return mbps * (1 << 20), (mb - 0.05) * (1 << 20), nil
}
