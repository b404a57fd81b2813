package sample

import (
	"fmt"
	"strings"
)

// sockstat parses the IP stack's incomplete datagrams: frag.inuse (datagrams) and frag.memory
// (bytes), or frag6 likewise. They are levels, not counters. The line of proto looks like "FRAG:
// inuse 0 memory 0" (sockstat_seq_show, net/ipv4/proc.c; sockstat6_seq_show, net/ipv6/proc.c).
func sockstat(proto string) func([]byte) (Counters, error) {
	return func(b []byte) (Counters, error) {
		for i, line := range lines(b) {
			f := strings.Fields(line)
			if len(f) == 0 || f[0] != proto+":" {
				continue
			}
			if len(f) != 5 || f[1] != "inuse" || f[3] != "memory" {
				return nil, fmt.Errorf("line %d: %.40q is not %s: inuse N memory N", i+1, line, proto)
			}
			c := Counters{}
			for j := 1; j < len(f); j += 2 {
				n, err := counter(f[j+1])
				if err != nil {
					return nil, fmt.Errorf("line %d: %w", i+1, err)
				}
				c[strings.ToLower(proto)+"."+f[j]] = n
			}
			return c, nil
		}
		return nil, fmt.Errorf("no line %q", proto+":")
	}
}
