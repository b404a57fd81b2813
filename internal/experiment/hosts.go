package experiment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/trial"
)

// A namedHost is a host with its name in files and results.
type namedHost struct {
	*target.Host
	name string
}

// named returns the hosts of a site, each once and in the order of their names. Names decide, because
// containers that serve as machines share a kernel and its ID.
func named(site *target.Site) (all []namedHost) {
	add := func(node, name string) {
		if n := site.Nodes[node]; n != nil {
			if name = cmp.Or(n.Host().Name, name); !slices.ContainsFunc(all, func(have namedHost) bool { return have.name == name }) {
				all = append(all, namedHost{n.Host(), name})
			}
		}
	}
	for _, h := range site.Topology.Hosts {
		add(h.Name, h.Name)
		for _, p := range h.Pods {
			add(p.Name, h.Name)
		}
	}
	slices.SortFunc(all, func(a, b namedHost) int { return cmp.Compare(a.name, b.name) })
	return all
}

// shared returns the hosts that others can use, too, each once.
func (r *run) shared() (all []namedHost) {
	for _, p := range r.built {
		if p.site == nil || p.site.Private {
			continue
		}
		for _, h := range named(p.site) {
			if !slices.ContainsFunc(all, func(have namedHost) bool { return have.name == h.name }) {
				all = append(all, h)
			}
		}
	}
	return all
}

const (
	// idleTime is how long idle hosts are watched before the run; /proc/stat (10 ms units) resolves 0.01
	// core.
	idleTime = time.Second
	// idleInBlock is how long hosts that others use are watched before each block, because their idle
	// use changes within a run. It resolves 0.05 core.
	idleInBlock = 200 * time.Millisecond
)

// measureIdle watches all hosts before the run.
func (r *run) measureIdle(ctx context.Context) (err error) {
	var hosts []*target.Host
	for _, p := range r.built {
		if p.site != nil {
			hosts = append(hosts, p.site.Hosts()...)
		}
	}
	r.tell(Event{Text: "idle machine"})
	r.idle, err = trial.MeasureIdle(ctx, hosts, idleTime)
	return err
}

// refreshIdle watches the hosts that others use again. A host that does not answer has no idle usage in this
// block; its trials fail or warn.
func (r *run) refreshIdle(ctx context.Context) error {
	var hosts []*target.Host
	for _, h := range r.shared() {
		hosts = append(hosts, h.Host)
		delete(r.idle, h.ID)
	}
	if len(hosts) == 0 {
		return nil
	}
	idle, _ := trial.MeasureIdle(ctx, hosts, idleInBlock)
	maps.Copy(r.idle, idle)
	return context.Cause(ctx)
}

// A description is hosts/NAME.json.
type description struct {
	name string
	Weir string `json:"weir"` // version of this program
	facts.Facts
}

// describe stores the facts of hosts that weir found, and warns about differences that make their
// numbers hard to compare: with each other, or with an earlier part of the run.
func (r *run) describe(ctx context.Context, site *target.Site) error {
	if !site.Topology.Exists {
		return nil
	}
	hosts := slices.DeleteFunc(named(site), func(h namedHost) bool {
		return slices.ContainsFunc(r.described, func(d description) bool { return d.name == h.name })
	})
	about := make([]description, len(hosts))
	errs := atOnce(indices(hosts), func(i int) (err error) {
		about[i] = description{name: hosts[i].name, Weir: r.Version}
		about[i].Facts, err = hosts[i].Facts(ctx)
		return err
	})
	for i, d := range about {
		if errs[i] != nil {
			r.tell(Event{Warning: fmt.Sprintf("%s: its facts are unknown: %v", d.name, errs[i])})
			continue
		}
		var before description // the last part of the run with other facts, or this one
		if _, err := r.Dir.Describe(fileName(d.name), d, func(b []byte) bool {
			before = description{}
			return bounds.JSON(b, &before) == nil && before.Weir == d.Weir && before.Kernel == d.Kernel
		}); err != nil {
			return err
		}
		if before.Weir != "" {
			before.name = d.name + " so far"
			r.compare(before, d)
		}
		alike := func(other description) bool { return other.Kernel == d.Kernel }
		if len(r.described) > 0 && !slices.ContainsFunc(r.described, alike) {
			r.compare(r.described[0], d)
		}
		r.described = append(r.described, d)
	}
	return context.Cause(ctx)
}

// compare warns if two descriptions differ in what numbers depend on.
func (r *run) compare(a, b description) {
	for _, x := range []struct{ what, a, b string }{{"kernel", a.Kernel, b.Kernel}, {"version of weir", a.Weir, b.Weir}} {
		if x.a != x.b {
			r.tell(Event{Warning: fmt.Sprintf("the %s differs: %s on %s, %s on %s; results depend on it", x.what, x.a, a.name, x.b, b.name)})
		}
	}
}

// fileName makes a name safe as a file's.
func fileName(name string) string {
	return strings.Map(func(c rune) rune {
		if c == '.' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			return c
		}
		return '-'
	}, name)
}

func indices[T any](list []T) []int {
	all := make([]int, len(list))
	for i := range all {
		all[i] = i
	}
	return all
}
