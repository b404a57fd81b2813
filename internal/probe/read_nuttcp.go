package probe

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/record"
)

// Lines of nuttcp. MB is 2^20 bytes and Mbps is 10^6 bit/s (nuttcp.c, "MB /" and rate_Mbps). The brief
// line is the receiver's; interval lines lack the CPU time (%TX, %RX).
//
//	 1122.0625 MB /  10.00 sec =  941.2327 Mbps 12 %TX 20 %RX 0 retrans 0.20 msRTT
//	   11.9209 MB /  10.00 sec =   10.0000 Mbps 99 %TX 1 %RX 0 / 12207 drop/pkt 0.00 %loss
//	nuttcp-r: 1122.0625 MB in 10.01 real seconds = 114781.79 KB/sec = 940.2926 Mbps
var (
	nuttcpHeadRE  = regexp.MustCompile(`(?m)^nuttcp-[tr]: |^ *\d+\.\d+ MB / +\d+\.\d+ sec = |^megabytes=`)
	nuttcpBriefRE = regexp.MustCompile(`(?m)^ *(\d+\.\d+) MB / +(\d+\.\d+) sec = +(\d+\.\d+) Mbps \d+ %TX \d+ %RX(?: (\d+) (?:host-)?retrans\b)?(?: (\d+) / (\d+) drop/pkt)?(?: .*)?\n`)
	nuttcpParseRE = regexp.MustCompile(`(?m)^megabytes=(\d+\.\d+) real_seconds=(\d+\.\d+) rate_Mbps=(\d+\.\d+) tx_cpu=\d+ rx_cpu=\d+(?: retrans=(\d+))?(?: drop=(\d+) pkt=(\d+))?.*\n`)
	nuttcpSideRE  = regexp.MustCompile(`(?m)^nuttcp-([tr]): (?:megabytes=(\d+\.\d+) real_seconds=(\d+\.\d+) .*rate_Mbps=(\d+\.\d+)|(\d+\.\d+) MB in (\d+\.\d+) real seconds = .* (\d+\.\d+) Mbps)\n`)
	nuttcpModeRE  = regexp.MustCompile(`(?m)^nuttcp-t: buflen=(\d+),? nstream=(\d+),? port=\d+,? (?:mode=)?(tcp|udp)\b`)
	nuttcpDropRE  = regexp.MustCompile(`(?m)^nuttcp-r: (?:drop=(\d+) pkt=(\d+) |(\d+) / (\d+) drop/pkt )`)
	nuttcpTriesRE = regexp.MustCompile(`(?m)^nuttcp-t: retrans ?= ?(\d+)`)
	nuttcpFailRE  = regexp.MustCompile(`(?m)^nuttcp-[tr]: .*\b[Ee]rror: (.*)$`)
	nuttcpStartRE = regexp.MustCompile(`(?m)^nuttcp-([tr]): v\d\S*: socket$`)
)

// readNuttcp reads the brief lines, or the verbose text of one or several tests.
func readNuttcp(b []byte) (out []Statement, _ error) {
	if parts := nuttcpTests(b); parts != nil {
		return each(parts, readNuttcpVerbose)
	}
	lines := append(nuttcpBriefRE.FindAllSubmatch(b, -1), nuttcpParseRE.FindAllSubmatch(b, -1)...)
	for _, m := range lines {
		udp := len(m[6]) > 0
		r := statement("nuttcp-"+protocol(udp), Nuttcp{UDP: udp}, protocol(udp))
		if err := r.nuttcp(m[1], m[2], m[3]); err != nil {
			return nil, err
		}
		if err := r.nuttcpLoss(m[5], m[6], digits(m[2])); udp && err != nil {
			return nil, err
		}
		if !udp && len(m[4]) > 0 {
			r.add(record.Retransmits, "1", digits(m[4]))
		}
		r.add(record.Window, "s", digits(m[2]))
		out = append(out, r)
	}
	if fail := nuttcpFailRE.FindSubmatch(b); out == nil && fail != nil {
		return nil, fmt.Errorf("the test never began: %.100s", fail[1])
	}
	if out == nil {
		return nil, errors.New("no line with %TX and %RX: cut off, or interrupted")
	}
	if !nuttcpEnds(b) {
		return nil, errors.New("cut off: intervals after the last result")
	}
	return out, nil
}

// nuttcpTests cuts a verbose text into tests. Each has the client's part first, which receives with -r, and then the server's.
func nuttcpTests(b []byte) (tests [][]byte) {
	var starts []int
	ends := "" // of the last test
	for _, m := range nuttcpStartRE.FindAllSubmatchIndex(b, -1) {
		end := string(b[m[2]:m[3]])
		if ends == "" || len(ends) == 2 || ends == end {
			starts, ends = append(starts, m[0]), ""
		}
		ends += end
	}
	for i, from := range starts {
		to := len(b)
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		tests = append(tests, b[from:to])
	}
	return tests
}

// nuttcpEnds reports whether the last line of a transfer is a total.
func nuttcpEnds(b []byte) bool {
	at := bytes.LastIndex(b, []byte(" MB / "))
	if at < 0 {
		return true
	}
	line := b[bytes.LastIndexByte(b[:at], '\n')+1:]
	return nuttcpBriefRE.Match(line)
}

func readNuttcpVerbose(b []byte) (Statement, error) {
	mode, fail := nuttcpModeRE.FindSubmatch(b), nuttcpFailRE.FindSubmatch(b)
	switch {
	case mode == nil && fail != nil:
		return Statement{}, fmt.Errorf("the test never began: %.100s", fail[1])
	case mode == nil:
		return Statement{}, errors.New("no line of the sender with buflen, nstream and the protocol: cut off")
	}
	udp := string(mode[3]) == "udp"
	r := statement("nuttcp-"+protocol(udp), Nuttcp{UDP: udp}, protocol(udp))
	var tx, rx [][]byte
	for _, m := range nuttcpSideRE.FindAllSubmatch(b, -1) {
		if len(m[5]) > 0 {
			m[2], m[3], m[4] = m[5], m[6], m[7]
		}
		if string(m[1]) == "r" {
			rx = m
		} else {
			tx = m
		}
	}
	if rx == nil {
		return r, fmt.Errorf("no result of the receiver (nuttcp-r): cut off%s", quoted(nuttcpFailRE.Find(b)))
	}
	if err := r.nuttcp(rx[2], rx[3], rx[4]); err != nil {
		return r, err
	}
	if tx != nil && digits(rx[2]) > digits(tx[2])+0.0001 { // of the four decimals
		return r, fmt.Errorf("%s MB were received and only %s sent", rx[2], tx[2])
	}
	r.Levels["size"], r.Levels["streams"] = string(mode[1]), string(mode[2])
	if bytes.HasPrefix(b, []byte("nuttcp-r: ")) {
		r.Levels["reverse"] = "true"
	}
	if udp {
		r.Datagram, _ = strconv.Atoi(string(mode[1]))
		drop := nuttcpDropRE.FindSubmatch(b)
		if drop == nil {
			return r, errors.New("no line of drops: cut off")
		}
		if len(drop[3]) > 0 {
			drop[1], drop[2] = drop[3], drop[4]
		}
		if err := r.nuttcpLoss(drop[1], drop[2], digits(rx[3])); err != nil {
			return r, err
		}
	} else if m := nuttcpTriesRE.FindSubmatch(b); m != nil {
		r.add(record.Retransmits, "1", digits(m[1]))
	}
	r.add(record.Window, "s", digits(rx[3]))
	if v := nuttcpVersionRE.FindSubmatch(b); v != nil {
		record.Tool.Put(r.Observed, "nuttcp "+string(v[1]))
	}
	return r, nil
}

// nuttcp adds the throughput, which must agree with the bytes and seconds.
func (r *Statement) nuttcp(mega, seconds, mbit []byte) error {
	f, err := numbers([][]byte{mega, seconds, mbit})
	if err != nil {
		return err
	}
	if f[0].value == 0 {
		return fmt.Errorf("nothing was received: %s MB in %s s", mega, seconds)
	}
	rate := f[2].times(1e6)
	if bits := f[0].times(8 << 20).over(f[1]); !near(bits, rate) {
		return fmt.Errorf("%s MB in %s s are %.6g bit/s, not %.6g", mega, seconds, bits.value, rate.value)
	}
	r.add(record.Throughput, "bit/s", rate.value)
	return nil
}

func (r *Statement) nuttcpLoss(dropped, sent []byte, seconds float64) error {
	lost, all := digits(dropped), digits(sent)
	if !(all > 0) || lost > all || !(seconds > 0) {
		return fmt.Errorf("impossible: %.0f of %.0f packets were dropped in %g s", lost, all, seconds)
	}
	r.Values = append(r.Values, packets(lost, all, seconds)...)
	return nil
}

// quoted returns a tool's error for the end of a message, "" if there is none.
func quoted(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.100s)", strings.TrimSpace(string(b)))
}
