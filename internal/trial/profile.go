package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-bench/weir/internal/profile"
	"github.com/weir-bench/weir/internal/target"
)

// A Profiler samples the CPUs of a machine since it was made (profile.Recorder). Stop ends it and returns the
// samples between two moments of the machine's clock (target.Reading); without such moments, an error.
type Profiler interface {
	Stop(from, to time.Duration) (*profile.Profile, error)
}

// ProfileFile is the raw file of what the Profilers sampled, in pprof's format.
const ProfileFile = "profile.pb.gz"

// A profiled is what the profilers of a trial sampled.
type profiled struct {
	*profile.Profile
	ends []profiledEnd
	err  error
}

type profiledEnd struct {
	host string // ID
	Profiler
}

// begin starts to sample: in the lab one machine, whose processes are all the run's, and otherwise the machine of each end.
func (p *profiled) begin(ctx context.Context, s *Setup) {
	if s.Profile == nil {
		return
	}
	nodes := []target.Node{s.Site.Nodes[s.Client.Node], s.Site.Nodes[s.Server.Node]}
	if s.Site.Private {
		nodes = nodes[:1]
	}
	ends, errs := make([]profiledEnd, len(nodes)), make([]error, len(nodes))
	atOnce(len(nodes), func(i int) {
		ends[i].host = nodes[i].Host().ID
		ends[i].Profiler, errs[i] = s.Profile(ctx, nodes[i])
	})
	for i := range ends {
		if errs[i] == nil {
			p.ends = append(p.ends, ends[i])
		}
	}
	p.err = errors.Join(errs...)
}

// end ends the sampling, and keeps the samples of the window by the clock of each machine.
func (p *profiled) end(r readings) {
	all, errs := make([]*profile.Profile, len(p.ends)), make([]error, len(p.ends))
	atOnce(len(p.ends), func(i int) {
		host := p.ends[i].host
		all[i], errs[i] = p.ends[i].Stop(r.Begin.Hosts[host].At, r.End.Hosts[host].At)
	})
	if p.err = errors.Join(p.err, errors.Join(errs...)); p.err != nil || len(all) == 0 {
		return
	}
	p.Profile = all[0]
	if len(all) > 1 {
		p.Profile = profile.Join(all[0], all[1], p.ends[0].host == p.ends[1].host)
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
func (p *profiled) problem() error {
	if p.err != nil {
		return fmt.Errorf("profile: %w", p.err)
	}
	return nil
}
