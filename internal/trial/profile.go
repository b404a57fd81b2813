package trial

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/profile"
)

// A Profiler samples the CPUs of the machine that all nodes are on (profile.Recorder).
type Profiler interface {
	Start() error
	Stop() (*profile.Profile, error)
	Close() error
}

// ProfileFile is the raw file of what a Profiler sampled, in pprof's format.
const ProfileFile = "profile.pb.gz"

// A profiled is what the profiler of a trial sampled.
type profiled struct {
	*profile.Profile
	on  bool
	err error
}

// edge begins or ends the sampling at a mark of the client.
func (p *profiled) edge(s *Setup, mark string) {
	switch {
	case s.Profiler == nil || p.err != nil:
	case mark == event.MarkBegin && !p.on:
		p.err, p.on = s.Profiler.Start(), true
	case mark == event.MarkEnd && p.on:
		p.Profile, p.err = s.Profiler.Stop()
		p.on = false
	}
}

// file returns the stored form, nil without a profile.
func (p *profiled) file() ([]byte, error) {
	if p.Profile == nil {
		return nil, nil
	}
	var b bytes.Buffer
	err := p.Write(&b)
	return b.Bytes(), err
}

// problem returns why a trial that was to be profiled has no profile.
func (p *profiled) problem(s *Setup) error {
	switch {
	case s.Profiler == nil:
		return nil
	case p.err != nil:
		return fmt.Errorf("profile: %w", p.err)
	case p.Profile == nil:
		return errors.New("profile: the window has no marks")
	}
	return nil
}
