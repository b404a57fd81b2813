// Package profile shows which functions of the kernel use the CPU time of a trial, and how much more of
// it a network uses than the baseline, by layer.
//
// It samples every CPU at 1 kHz of its clock (perf_event_open(2)), which needs privileges, and stores
// the samples in pprof's format. It must not run a trial, draw, or judge what a layer means: a layer is
// a suggestion, which a run without it can test.
package profile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/pprof/profile"
)

// Window is the length of a profile trial: 2,000 samples per CPU, so that a layer with 1 % of a CPU has 20 in
// each trial and 120 in all. Blocks is how many trials a cell has.
const (
	Window = 2 * time.Second
	Blocks = 6
)

// A Profile is the samples of one trial.
type Profile struct {
	Duration time.Duration // sampled
	Period   time.Duration // CPU time that a sample stands for
	Stacks   []Stack       // distinct
}

// A Stack is calls, outermost first: the process, or Kernel, then functions of the kernel. A process alone runs its
// own code.
type Stack struct {
	Frames  []string
	Samples int
}

// Kernel is the outermost frame of work that belongs to no process of the run: softirqs on an idle CPU, ksoftirqd, vhost.
const Kernel = "kernel"

// Join returns the samples of two machines in one window, each by its own clock, as one profile. Where both are one
// machine, seen from two PID namespaces, its kernel's work counts once.
func Join(a, b *Profile, same bool) *Profile {
	all := slices.Clone(a.Stacks)
	for _, s := range b.Stacks {
		i := slices.IndexFunc(a.Stacks, func(x Stack) bool { return slices.Equal(x.Frames, s.Frames) })
		switch {
		case same && s.process() == Kernel:
		case i >= 0:
			all[i].Samples += s.Samples
		default:
			all = append(all, s)
		}
	}
	return &Profile{a.Duration, a.Period, all}
}

func (s Stack) process() string { return s.Frames[0] }

// maxSize bounds an unpacked file, bytes: 2 s of two CPUs take 25 kB.
const maxSize = 16 << 20

// Write writes p as a gzipped pprof profile, without the kernel's addresses, which are secret.
func (p *Profile) Write(w io.Writer) error {
	time := func(unit string) *profile.ValueType { return &profile.ValueType{Type: "cpu", Unit: unit} }
	out := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, time("nanoseconds")},
		PeriodType: time("nanoseconds"), Period: p.Period.Nanoseconds(), DurationNanos: p.Duration.Nanoseconds(),
		DefaultSampleType: "cpu",
		Mapping:           []*profile.Mapping{{ID: 1, File: "[kernel.kallsyms]", HasFunctions: true}},
	}
	at := map[string]*profile.Location{}
	for _, s := range p.Stacks {
		x := &profile.Sample{Value: []int64{int64(s.Samples), int64(s.Samples) * p.Period.Nanoseconds()}}
		for _, name := range slices.Backward(s.Frames) {
			if at[name] == nil {
				id := uint64(len(at) + 1)
				f := &profile.Function{ID: id, Name: name, SystemName: name}
				at[name] = &profile.Location{ID: id, Mapping: out.Mapping[0], Line: []profile.Line{{Function: f}}}
				out.Function, out.Location = append(out.Function, f), append(out.Location, at[name])
			}
			x.Location = append(x.Location, at[name])
		}
		out.Sample = append(out.Sample, x)
	}
	return out.Write(w)
}

// maxEntries bounds the samples, functions and so on of a profile: an empty one of two bytes takes hundreds in memory.
const maxEntries = 400_000

// entries counts the messages and texts of a profile (proto/profile.proto of github.com/google/pprof). It leaves
// malformed input to the parser.
func entries(b []byte) (n int) {
	const sample, location = 2, 4 // which hold messages
	for len(b) > 0 {
		tag, k := binary.Uvarint(b)
		b = b[max(k, 0):]
		length, k := binary.Uvarint(b)
		switch {
		case k <= 0:
			return n
		case tag&7 == 1:
			length, k = 8, 0
		case tag&7 == 5:
			length, k = 4, 0
		case tag&7 == 0:
			length = 0
		}
		if length > uint64(len(b)-k) {
			return n
		}
		if tag&7 == 2 {
			if n++; tag>>3 == sample || tag>>3 == location {
				n += entries(b[k : k+int(length)])
			}
		}
		b = b[k+int(length):]
	}
	return n
}

// Parse reads a profile that Write has written.
func Parse(b []byte) (*Profile, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("unpack profile: %w", err)
	}
	b, err = io.ReadAll(io.LimitReader(unpacked, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("unpack profile: %w", err)
	}
	if len(b) > maxSize {
		return nil, fmt.Errorf("profile has more than %d bytes", maxSize)
	}
	if n := entries(b); n > maxEntries {
		return nil, fmt.Errorf("profile has %d entries: want at most %d", n, maxEntries)
	}
	in, err := profile.ParseUncompressed(b)
	if err == nil {
		err = in.CheckValid()
	}
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	p := &Profile{Duration: time.Duration(in.DurationNanos), Period: time.Duration(in.Period)}
	if p.Duration <= 0 || p.Period <= 0 {
		return nil, fmt.Errorf("profile of %v at one sample in %v: both must be above 0", p.Duration, p.Period)
	}
	for _, x := range in.Sample {
		s := Stack{}
		for _, l := range slices.Backward(x.Location) {
			for _, line := range slices.Backward(l.Line) {
				if line.Function == nil {
					return nil, errors.New("profile has a line without a function")
				}
				s.Frames = append(s.Frames, line.Function.Name)
			}
		}
		if len(s.Frames) == 0 || len(x.Value) == 0 || x.Value[0] < 0 || x.Value[0] > 1<<40 {
			return nil, errors.New("profile has a sample without frames or with an impossible count")
		}
		s.Samples = int(x.Value[0])
		p.Stacks = append(p.Stacks, s)
	}
	return p, nil
}

// cores returns the CPU time of n samples per second.
func (p *Profile) cores(n int) float64 { return float64(n) * p.Period.Seconds() / p.Duration.Seconds() }
