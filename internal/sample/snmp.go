package sample

import (
	"fmt"
	"strings"
)

// snmpSettings are settings and gauges in /proc/net/snmp; their difference means nothing
// (snmp_seq_show, net/ipv4/proc.c; RFC 4293, RFC 4022).
var snmpSettings = map[string]bool{
	"ip.Forwarding": true, "ip.DefaultTTL": true,
	"tcp.RtoAlgorithm": true, "tcp.RtoMin": true, "tcp.RtoMax": true, "tcp.MaxConn": true, "tcp.CurrEstab": true,
}

// parseSNMP reads the counters of /proc/net/snmp, named by lower-case protocol and kernel name:
// ip.FragCreates, udp.RcvbufErrors, tcp.RetransSegs …
func parseSNMP(b []byte) (Counters, error) {
	return parsePairs(b, func(proto, counter, _ string) string {
		if name := strings.ToLower(proto) + "." + counter; !snmpSettings[name] {
			return name
		}
		return ""
	})
}

// parsePairs reads pairs of lines: "Udp: InDatagrams NoPorts", "Udp: 85 0". named returns a counter's
// name; "" leaves it out.
func parsePairs(b []byte, named func(proto, counter, value string) string) (Counters, error) {
	ls := lines(b)
	c := Counters{}
	for i := 0; i < len(ls); i += 2 {
		names := strings.Fields(ls[i])
		if len(names) == 0 || !strings.HasSuffix(names[0], ":") {
			return nil, fmt.Errorf("line %d: %.40q does not begin with a protocol", i+1, ls[i])
		}
		if i+1 == len(ls) {
			return nil, fmt.Errorf("line %d: %s has names but no numbers", i+1, names[0])
		}
		values := strings.Fields(ls[i+1])
		if len(values) != len(names) || values[0] != names[0] {
			return nil, fmt.Errorf("line %d: %.40q does not match the names of the line before", i+2, ls[i+1])
		}
		proto := strings.TrimSuffix(names[0], ":")
		for j := 1; j < len(names); j++ {
			name := named(proto, names[j], values[j])
			if name == "" {
				continue
			}
			n, err := counter(values[j])
			if err != nil {
				return nil, fmt.Errorf("line %d: %s: %w", i+2, name, err)
			}
			c[name] = n
		}
	}
	return c, nil
}

// parseSNMP6 reads the counters of /proc/net/snmp6 likewise, as ip6.ReasmFails, udp6.InErrors …
// from lines such as "Ip6FragCreates \t0" (snmp6_seq_show, net/ipv6/proc.c). The protocol ends with
// the first 6: "Icmp6InType136".
func parseSNMP6(b []byte) (Counters, error) {
	c := Counters{}
	for i, line := range lines(b) {
		f := strings.Fields(line)
		if len(f) != 2 {
			return nil, fmt.Errorf("line %d: %d words: want a name and a number", i+1, len(f))
		}
		proto, name, ok := strings.Cut(f[0], "6")
		if !ok || proto == "" || name == "" {
			return nil, fmt.Errorf("line %d: %.40q is not an IPv6 counter", i+1, f[0])
		}
		n, err := counter(f[1])
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", i+1, f[0], err)
		}
		c[strings.ToLower(proto)+"6."+name] = n
	}
	return c, nil
}
