// Package sample holds one file per source of kernel counters.
//
// Samplers observe and never set; they run no program and need no privilege.
// They read through an fs.FS, so the same code reads another node or testdata. The
// FS decides whose network namespace "proc/net" shows.
//
// A file that a sampler does not understand is an error, never a guess: every
// sampler adds either all counters of its source or none.
package sample

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"strconv"
	"strings"
)

// Counters holds monotonic counters by name. The caller subtracts.
type Counters map[string]float64

// A Sampler reads one source of monotonic counters.
type Sampler interface {
	// Sample adds the counters of the source to c. root is the node's "/".
	Sample(root fs.FS, c Counters) error
}

// Read samples all of ss. A sampler that fails does not affect the others: it
// adds one error and no counters.
func Read(root fs.FS, ss []Sampler) (Counters, []error) {
	c := Counters{}
	var errs []error
	for _, s := range ss {
		if err := s.Sample(root, c); err != nil {
			errs = append(errs, err)
		}
	}
	return c, errs
}

// Named samples the sources called names, as Read does. A target is asked for
// sources by name, so that they can be read on another machine.
func Named(root fs.FS, names ...string) (Counters, []error) {
	var ss []Sampler
	var errs []error
	for _, name := range names {
		if s := source(name); s != nil {
			ss = append(ss, s)
		} else {
			errs = append(errs, fmt.Errorf("unknown source of counters %q", name))
		}
	}
	c, more := Read(root, ss)
	return c, append(errs, more...)
}

// Names of the sources.
const (
	OfStat         = "stat"
	OfSoftirqs     = "softirqs"
	OfSoftnet      = "softnet"
	OfAllProcesses = "all-processes"
	OfFrequency    = "frequency"
	OfNetDev       = "netdev"
	OfSNMP         = "snmp"
	OfReassembly   = "reassembly"
	OfProcesses    = "processes"
)

// source returns the sampler called name, or nil.
func source(name string) Sampler {
	switch name {
	case OfStat:
		return Stat{}
	case OfSoftirqs:
		return Softirqs{}
	case OfSoftnet:
		return Softnet{}
	case OfAllProcesses:
		return AllProcesses{}
	case OfFrequency:
		return Frequency{}
	case OfNetDev:
		return NetDev{}
	case OfSNMP:
		return SNMP{}
	case OfReassembly:
		return Reassembly{}
	case OfProcesses:
		return Processes{}
	}
	return nil
}

// Sub returns the growth from before to c, counter by counter. A counter that
// before does not have counts from zero.
//
// Growth can be negative: idle and iowait time may step back by some ticks
// (Documentation/filesystems/proc.rst, 1.7), and the 32-bit counters of softirqs
// and softnet_stat wrap, at the earliest after 71 minutes at a million per second.
func (c Counters) Sub(before Counters) Counters {
	d := make(Counters, len(c))
	for k, v := range c {
		d[k] = v - before[k]
	}
	return d
}

// sampleFile adds to c what parse reads from the file called name.
func sampleFile(root fs.FS, c Counters, name string, parse func([]byte) (Counters, error)) error {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return err // a *fs.PathError names the file
	}
	m, err := parse(b)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	maps.Copy(c, m)
	return nil
}

// lines splits b without a limit on the length of a line: "intr" of /proc/stat
// is longer than bufio.Scanner allows on machines with many interrupts.
func lines(b []byte) []string {
	return strings.Split(string(bytes.TrimSuffix(b, []byte("\n"))), "\n")
}

// counter reads one unsigned decimal number, as the kernel prints a counter.
func counter(s string) (float64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("invalid counter %.40q: want an unsigned 64-bit decimal number", s)
	}
	return float64(n), nil
}
