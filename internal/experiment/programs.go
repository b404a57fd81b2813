package experiment

import (
	"context"
	"fmt"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/probe"
)

// findPrograms learns before anything starts which tools are missing.
func (r *run) findPrograms(ctx context.Context) error {
	for _, c := range r.cells {
		p, err := r.Probe(c.Probe, c.Levels)
		if err != nil {
			return err
		}
		for _, name := range probe.Programs(p) {
			r.find(ctx, name)
		}
	}
	return nil
}

// find returns an error when a program cannot be run.
func (r *run) find(ctx context.Context, name string) error {
	if _, known := r.missing[name]; !known {
		path, version, err := facts.Tool(ctx, name)
		if path != "" {
			err = nil // it is there; that it tells no version is for its user to judge
		}
		r.missing[name], r.version[name] = err, version
		if err != nil {
			r.tell(Event{Warning: fmt.Sprintf("%v; its trials will be skipped", err)})
		}
	}
	return r.missing[name]
}

// lacks says which program of the probe cannot be run.
func (r *run) lacks(p probe.Probe) error {
	for _, name := range probe.Programs(p) {
		if r.missing[name] != nil {
			return r.missing[name]
		}
	}
	return nil
}
