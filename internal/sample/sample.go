// Package sample holds one file per source of kernel counters.
//
// Samplers observe and never set; they run no program and need no privilege.
// They read through an fs.FS, so that they read another node, or testdata.
package sample

import "io/fs"

// Counters holds monotonic counters by name. The caller subtracts.
type Counters map[string]float64

// A Sampler reads one source of monotonic counters.
type Sampler interface {
	// Sample adds the counters of the source to c. root is the node's "/".
	Sample(root fs.FS, c Counters) error
}

// Read reads all sources. One that fails does not keep the others from being read.
func Read(root fs.FS, ss []Sampler) (Counters, []error) {
	c, errs := Counters{}, []error(nil)
	for _, s := range ss {
		if err := s.Sample(root, c); err != nil {
			errs = append(errs, err)
		}
	}
	return c, errs
}

// Sub returns the growth from before to c, counter by counter. A counter that
// before does not have counts from zero; one that is smaller than before has
// wrapped around 32 bits.
func (c Counters) Sub(before Counters) Counters {
	d := make(Counters, len(c))
	for k, v := range c {
		d[k] = v - before[k]
		if d[k] < 0 {
			d[k] += 1 << 32
		}
	}
	return d
}
