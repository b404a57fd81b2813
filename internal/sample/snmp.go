package sample

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// SNMP reads /proc/net/snmp and /proc/net/snmp6: the protocol counters of RFC
// 1213 and RFC 4293 ("ip.FragCreates", "udp.RcvbufErrors", "ip6.ReasmReqds").
type SNMP struct{}

// gauges are the fields that do not only grow.
var gauges = map[string]bool{
	"ip.Forwarding": true, "ip.DefaultTTL": true, "tcp.RtoAlgorithm": true, "tcp.RtoMin": true,
	"tcp.RtoMax": true, "tcp.MaxConn": true, "tcp.CurrEstab": true,
}

// Sample reads both files; a kernel without IPv6 has only the first.
func (SNMP) Sample(root fs.FS, c Counters) error {
	lines, err := readLines(root, "proc/net/snmp")
	if err != nil {
		return err
	}
	// Two lines per protocol: names and values.
	for i := 0; i+1 < len(lines); i += 2 {
		proto, names, ok := strings.Cut(lines[i], ":")
		proto2, values, ok2 := strings.Cut(lines[i+1], ":")
		ns, vs := strings.Fields(names), strings.Fields(values)
		if !ok || !ok2 || proto != proto2 || len(ns) != len(vs) {
			return fmt.Errorf("proc/net/snmp:%d: names and values do not match", i+1)
		}
		for j, n := range ns {
			if err := c.field(strings.ToLower(proto)+"."+n, vs[j]); err != nil {
				return fmt.Errorf("proc/net/snmp:%d: %w", i+2, err)
			}
		}
	}
	lines, err = readLines(root, "proc/net/snmp6")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for i, line := range lines {
		f := strings.Fields(line)
		if len(f) != 2 {
			return fmt.Errorf("proc/net/snmp6:%d: %d columns, want 2", i+1, len(f))
		}
		// Ip6FragCreates, Udp6RcvbufErrors, UdpLite6InErrors
		proto, name, ok := strings.Cut(f[0], "6")
		if !ok {
			continue
		}
		if err := c.field(strings.ToLower(proto)+"6."+name, f[1]); err != nil {
			return fmt.Errorf("proc/net/snmp6:%d: %w", i+1, err)
		}
	}
	return nil
}

func (c Counters) field(name, value string) error {
	if gauges[name] {
		return nil
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	c[name] = float64(n)
	return nil
}
