// Package sample reads kernel counters, one file per source.
//
// Samplers observe and never set; they run no program and need no privilege. They read through an
// fs.FS, which determines whose network namespace "proc/net" shows. Sources have names, so a target
// can read them on another machine.
//
// A sampler returns all counters of its source, or an error if it does not understand a file.
package sample

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strconv"
	"strings"
)

// Counters holds monotonic counters by name. The caller subtracts.
type Counters map[string]float64

const (
	OfStat         = "stat"
	OfSoftirqs     = "softirqs"
	OfSoftnet      = "softnet"
	OfAllProcesses = "all-processes"
	OfOwnProcesses = "own-processes"
	OfOthers       = "others"
	OfFrequency    = "frequency"
	OfNetDev       = "netdev"
	OfSNMP         = "snmp"
	OfNetstat      = "netstat"
	OfReassembly   = "reassembly"
	OfProcesses    = "processes"
	OfLimits       = "limits"
	// OfQdisc has no file: a target that acts on a node reads it there, by netlink (Qdisc).
	OfQdisc = "qdisc"
	// OfCores has no file either: a target measures it. CoreToCore is a level, in seconds: how long a cache line takes
	// from the first CPU that programs can use to the first of the second half, where the other end runs, and back. A
	// machine with one CPU has none.
	OfCores    = "cores"
	CoreToCore = "core-to-core"
)

// A sampler reads the counters of one source. root is the node's "/".
type sampler func(root fs.FS) (Counters, error)

var sources = map[string]sampler{
	OfStat:         file("proc/stat", parseStat),
	OfSoftirqs:     file("proc/softirqs", parseSoftirqs),
	OfSoftnet:      file("proc/net/softnet_stat", parseSoftnet),
	OfAllProcesses: allProcesses,
	OfOwnProcesses: ownProcesses,
	OfOthers:       otherPrograms,
	OfFrequency:    frequency,
	OfNetDev:       file("proc/net/dev", parseNetDev),
	OfSNMP:         both(file("proc/net/snmp", parseSNMP), file("proc/net/snmp6", parseSNMP6)),
	OfNetstat:      file("proc/net/netstat", parseNetstat),
	OfReassembly:   both(file("proc/net/sockstat", sockstat("FRAG")), file("proc/net/sockstat6", sockstat("FRAG6"))),
	OfProcesses:    processes,
	OfLimits:       limits,
}

// Named samples the named sources. One that fails adds an error and no counters, and does not
// affect the others.
func Named(root fs.FS, names ...string) (Counters, []error) {
	all := Counters{}
	var errs []error
	for _, name := range names {
		read, ok := sources[name]
		if !ok {
			errs = append(errs, fmt.Errorf("unknown source of counters %q", name))
			continue
		}
		c, err := read(root)
		if err != nil {
			errs = append(errs, err)
		}
		maps.Copy(all, c)
	}
	return all, errs
}

func file(name string, parse func([]byte) (Counters, error)) sampler {
	return func(root fs.FS) (Counters, error) {
		b, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err // a *fs.PathError names the file
		}
		c, err := parse(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return c, nil
	}
}

// both reads IPv4 and IPv6 counters. A node without IPv6 lacks the second file.
func both(v4, v6 sampler) sampler {
	return func(root fs.FS) (Counters, error) {
		c, err := v4(root)
		if err != nil {
			return nil, err
		}
		more, err := v6(root)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		maps.Copy(c, more)
		return c, nil
	}
}

// Sub returns the growth of each counter of c since before, where missing counters are zero.
//
// Growth can be negative: idle and iowait time can step back by some ticks
// (Documentation/filesystems/proc.rst, 1.7), and the 32-bit counters of softirqs and softnet_stat
// wrap, at the earliest after 71 minutes at a million per second.
func (c Counters) Sub(before Counters) Counters {
	d := make(Counters, len(c))
	for k, v := range c {
		d[k] = v - before[k]
	}
	return d
}

// lines splits b without bufio.Scanner's limit, which "intr" of /proc/stat exceeds on machines with
// many interrupts.
func lines(b []byte) []string {
	return strings.Split(string(bytes.TrimSuffix(b, []byte("\n"))), "\n")
}

func counter(s string) (float64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("invalid counter %.40q: want an unsigned 64-bit decimal number", s)
	}
	return float64(n), nil
}
