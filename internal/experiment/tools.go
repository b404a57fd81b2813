package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/record"
)

type found struct {
	version string // "" when the tool does not report one
	err     error  // why it cannot run
}

// findPrograms reports which of the study's tools are missing on a network's hosts.
func (r *run) findPrograms(ctx context.Context, network string, site *target.Site) error {
	for _, c := range r.cells {
		p, err := r.Probe(c.Probe, c.Levels)
		if err != nil {
			return err
		}
		if c.Network == network {
			_ = r.find(ctx, site, p.Info().Tools) // lacks skips the trials
		}
	}
	return nil
}

// find returns an error when a tool cannot run on a host of site, and warns once about each.
func (r *run) find(ctx context.Context, site *target.Site, tools []facts.ToolInfo) error {
	var errs []error
	for _, h := range site.Hosts() {
		for _, tool := range tools {
			at := [2]string{h.ID, tool.Program}
			if _, known := r.found[at]; !known {
				path, version, err := h.Tool(ctx, tool)
				if path != "" {
					err = nil // the tool exists; only its user cares about the version
				}
				r.found[at] = found{version, err}
				if err != nil {
					r.tell(Event{Warning: fmt.Sprintf("%v; its trials will be skipped", err)})
				}
			}
			errs = append(errs, r.found[at].err)
		}
	}
	return errors.Join(errs...)
}

// tools adds the versions of the tools that measured a trial. All hosts of a site should have the
// same versions; those of the first one are stored.
func (r *run) tools(site *target.Site, pr probe.Probe, res *record.Result) {
	ts := pr.Info().Tools
	if res.Status != record.OK || len(ts) == 0 {
		return
	}
	version := func(program string) string { return r.found[[2]string{site.Hosts()[0].ID, program}].version }
	client := ts[len(ts)-1].Program
	if res.Observed["tool"] == "" { // its output has no version
		res.Observed["tool"] = strings.TrimSpace(client + " " + version(client))
	}
	for _, other := range ts[:len(ts)-1] { // the client's launcher or its server
		if v := version(other.Program); v != "" {
			res.Observed["version."+other.Program] = v
		}
	}
}
