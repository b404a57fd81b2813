package sample

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
)

// Reassembly reads how much of incomplete datagrams the IP stack holds, from /proc/net/sockstat and sockstat6: frag.inuse, datagrams, and
// frag.memory, bytes; frag6.inuse and frag6.memory likewise. These are current
// levels, not counters.
//
// A node without IPv6 has no sockstat6, and no such counters.
type Reassembly struct{}

// Sample implements Sampler.
func (Reassembly) Sample(root fs.FS, c Counters) error {
	both := Counters{}
	if err := sampleFile(root, both, "proc/net/sockstat", func(b []byte) (Counters, error) { return parseSockstat(b, "FRAG") }); err != nil {
		return err
	}
	err := sampleFile(root, both, "proc/net/sockstat6", func(b []byte) (Counters, error) { return parseSockstat(b, "FRAG6") })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	maps.Copy(c, both)
	return nil
}

// parseSockstat reads the line of proto, which looks like "FRAG: inuse 0 memory 0".
// (sockstat_seq_show, net/ipv4/proc.c; sockstat6_seq_show, net/ipv6/proc.c)
func parseSockstat(b []byte, proto string) (Counters, error) {
	for i, line := range lines(b) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != proto+":" {
			continue
		}
		if len(f) != 5 || f[1] != "inuse" || f[3] != "memory" {
			return nil, fmt.Errorf("line %d: %.40q is not %s: inuse N memory N", i+1, line, proto)
		}
		inuse, err := counter(f[2])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		memory, err := counter(f[4])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		name := strings.ToLower(proto)
		return Counters{name + ".inuse": inuse, name + ".memory": memory}, nil
	}
	return nil, fmt.Errorf("no line %q", proto+":")
}
