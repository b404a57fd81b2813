package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/target"
)

// begin opens the first network that can be opened, so that a failure comes before anything is stored. If that is not
// the baseline, it becomes the baseline of a new run: without its baseline, a run has no ratio. A resumed run, whose
// directory is first, must continue on the machines on which it began.
func (r *runner) begin(ctx context.Context, first string) error {
	if r.At.Machines == nil {
		return nil
	}
	site, network, err := r.openAny(ctx)
	if err != nil {
		return err
	}
	if s := &r.Study; first == "" && network != s.Networks[0].Name && s.Baseline == s.Networks[0].Name {
		r.Tell.Warn(lang.T("%s cannot be measured, so the baseline is %s", s.Baseline, network))
		s.Baseline = network
	}
	if first != "" {
		err = recognize(ctx, site, filepath.Join(first, "hosts"))
	}
	if err == nil {
		err = machinesProfile(ctx, r.Study, site)
	}
	return errors.Join(err, failure.Environment.Of(site.Close()))
}

// openAny opens the first network of the study that can be opened.
func (r *runner) openAny(ctx context.Context) (*target.Site, string, error) {
	prepared, err := r.At.Prepare(r.Study)
	if err != nil {
		return nil, "", err
	}
	var errs []error
	for _, u := range r.Study.Networks {
		site, err := r.At.Open(ctx, prepared.Networks[u.Name].Topology, "")
		if err == nil {
			return site, u.Name, nil
		}
		if ctx.Err() != nil {
			return nil, "", context.Cause(ctx)
		}
		errs = append(errs, fmt.Errorf("%s: %w", u.Name, err))
	}
	return nil, "", failure.Environment.Of(errors.Join(errs...))
}

// recognize compares the machines of a site with the facts in the directory hosts. A machine without facts is new: no
// trial of the run has used it.
func recognize(ctx context.Context, site *target.Site, hosts string) error {
	for _, h := range site.Hosts() {
		b, err := foreign.ReadFile(filepath.Join(hosts, h.Name+".json"), bounds.MaxFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var was facts.Facts
		if err == nil {
			err = bounds.JSON(b, &was)
		}
		if err != nil {
			return failure.Environment.Errorf("the facts of %s: %w", h.Name, err)
		}
		is, err := h.Facts(ctx)
		if err != nil {
			return failure.Environment.Errorf("%s: %w", h.Name, err)
		}
		if what := changed(was, is); what != "" {
			return failure.Environment.Errorf("%s is not the machine on which the run began: %s; resume with the same machines, or begin a new run", h.Name, what)
		}
	}
	return nil
}

// changed names what differs between two machines; "" if they can be the same one. Another kernel does not count: the
// machine can have been restarted with it.
func changed(was, is facts.Facts) string {
	for _, of := range []struct{ what, was, is string }{
		{"CPU", was.CPU, is.CPU}, {"number of CPUs", fmt.Sprint(was.CPUs), fmt.Sprint(is.CPUs)},
		{"architecture", was.Machine, is.Machine}, {"product", was.Product, is.Product},
	} {
		if of.was != of.is {
			return fmt.Sprintf("its %s was %q and is %q", of.what, of.was, of.is)
		}
	}
	return ""
}
