package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
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

// find returns an error when a tool cannot run on a host of site, and warns once about each. It asks all
// hosts at once. A lost host is no reason to skip the trials of others.
func (r *run) find(ctx context.Context, site *target.Site, tools []facts.ToolInfo) error {
	hosts, tools := site.Hosts(), preferred(site, tools)
	answers := make([]map[string]found, len(hosts))
	atOnce(indices(hosts), func(i int) error {
		answers[i] = map[string]found{}
		for _, tool := range tools {
			if _, known := r.found[[2]string{hosts[i].ID, tool.Program}]; known {
				continue
			}
			path, version, err := hosts[i].Tool(ctx, tool)
			if path != "" {
				err = nil // the tool exists; only its user cares about the version
			}
			answers[i][tool.Program] = found{version, err}
		}
		return nil
	})
	var errs []error
	for i, h := range hosts {
		for _, tool := range tools {
			at := [2]string{h.ID, tool.Program}
			f, known := r.found[at]
			if !known {
				if f = answers[i][tool.Program]; errors.Is(f.err, target.ErrLost) {
					continue
				}
				if r.found[at] = f; f.err != nil {
					r.tell(Event{Warning: fmt.Sprintf("%v; its trials will be skipped", f.err)})
				}
			}
			errs = append(errs, f.err)
		}
	}
	return errors.Join(errs...)
}

// preferred returns tools with the paths of those that are in the directory of the site's own programs.
func preferred(site *target.Site, tools []facts.ToolInfo) []facts.ToolInfo {
	dir := site.Topology.Programs
	if dir == "" {
		return tools
	}
	tools = slices.Clone(tools)
	for i, t := range tools {
		own := filepath.Join(dir, filepath.Base(t.Program))
		if _, err := fs.Stat(site.Hosts()[0].FS, strings.TrimPrefix(own, "/")); err == nil {
			tools[i].Program = own
		}
	}
	return tools
}

// tools adds the versions of the tools that measured a trial, on the hosts of the site.
func (r *run) tools(site *target.Site, pr probe.Probe, res *record.Result) {
	ts, at := pr.Info().Tools, preferred(site, pr.Info().Tools)
	if res.Status != record.OK || len(ts) == 0 {
		return
	}
	version := func(i int) string {
		var all []string
		for _, h := range site.Hosts() {
			if v := r.found[[2]string{h.ID, at[i].Program}].version; !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
		return strings.Join(all, ", ")
	}
	last := len(ts) - 1
	if !record.Tool.In(res.Observed) { // its output has no version
		record.Tool.Put(res.Observed, strings.TrimSpace(ts[last].Program+" "+version(last)))
	}
	for i, other := range ts[:last] { // the client's launcher or its server
		record.VersionOf(other.Program).Put(res.Observed, version(i))
	}
}
