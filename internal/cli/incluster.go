package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/kube"
)

// inCluster starts the run's coordinator in the cluster, shows its progress and brings the results home.
func (r *runner) inCluster(ctx context.Context) error {
	r.dir = r.newDir()
	if err := store.Free(r.dir); err != nil {
		return exit(exitEnvironment, err)
	}
	b, err := r.study.Encode()
	if err != nil {
		return exit(exitUsage, err)
	}
	c, _ := r.at.Machines.(place.Cluster) // of every study with a cluster
	say(lang.T("starting agents on %d nodes", r.study.Topology.Hosts))
	job, err := c.Launch(ctx, kube.Order{Study: b, Takes: catalog.Estimate(r.study)})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return exit(exitEnvironment, err)
	}
	c.Own(false)
	if r.study.Target.Kube.Volume == "" {
		note(lang.T("until they are brought home, the results are on the disk of the coordinator's node, and are lost with its pod; --volume CLAIM keeps them"))
	}
	say(lang.T("the run goes on in the cluster as %s, also when this command ends", job))
	return r.look(ctx, c, job)
}

// attachCluster looks at a run that an earlier command has started in a cluster.
func attachCluster(cmd *cobra.Command, as []string, f *targetFlags, r *runner) error {
	ctx, k := cmd.Context(), f.kube
	var other []string
	cmd.Flags().Visit(func(g *pflag.Flag) {
		if !slices.Contains([]string{"kube", "in-cluster", "attach", "context", "namespace", "keep", "json", "output"}, g.Name) {
			other = append(other, "--"+g.Name)
		}
	})
	if other = append(other, as...); len(other) > 0 {
		return usage("--attach looks at a run that has its study and its nodes: leave out %s", strings.Join(other, ", "))
	}
	k.InCluster = true
	c := place.Cluster{Target: &kube.Target{Kube: k, Warn: func(s string) { warn(lang.Stored(s)) }}}
	r.study.Name = strings.TrimPrefix(f.attach, "weir-")
	r.dir = r.newDir()
	if err := store.Free(r.dir); err != nil {
		return exit(exitEnvironment, err)
	}
	return place.Connected(ctx, adopted{c, f.attach}, tell, func() error { return r.look(ctx, c, f.attach) })
}

// adopted is a cluster with a run of an earlier command.
type adopted struct {
	place.Cluster
	job string
}

func (a adopted) Connect(ctx context.Context) error { return a.Adopt(ctx, a.job) }

const (
	lookTries = 5 // in a row, to look at a run
	lookPause = 3 * time.Second
)

// look shows a run in the cluster until it ends, brings its results home, removes its objects, and reports.
func (r *runner) look(ctx context.Context, c place.Cluster, job string) error {
	l := new(onlooker)
	status, err := r.bringHome(ctx, c, l)
	for try := 1; err != nil && !errors.Is(err, kube.ErrEnded) && ctx.Err() == nil && try < lookTries; try++ {
		select {
		case <-time.After(lookPause):
		case <-ctx.Done():
		}
		shown := l.shown
		if status, err = r.bringHome(ctx, c, l); l.shown > shown {
			try = 0
		}
	}
	switch {
	case err == nil:
		c.Own(true)
		return r.arrived(status)
	case errors.Is(err, kube.ErrEnded):
		c.Own(true)
		return exit(exitEnvironment, fmt.Errorf("%w; results on the disk of its node are lost, and those on a claim (--volume) stay there, in the directory %s", err, job))
	}
	say(lang.T("the run goes on in the cluster; to see it and bring its results home: %s", attachCommand(c, job)))
	say(lang.T("to end it: %s", c.RemoveCommand()))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return exit(exitEnvironment, fmt.Errorf("cannot look at the run: %w", err))
}

// attachCommand returns the command that looks at a run later, for sh(1).
func attachCommand(c place.Cluster, job string) string {
	argv := []string{"weir", "run", "--kube", "--attach", job}
	if c.Context != "" {
		argv = append(argv, "--context", c.Context)
	}
	if c.Namespace != "" {
		argv = append(argv, "-N", c.Namespace)
	}
	for i, a := range argv {
		argv[i] = plan.ShellWord(a)
	}
	return strings.Join(argv, " ") + " -o DIR"
}

// arrived reports a run that has ended with an exit status, from the results that are home if there are any.
func (r *runner) arrived(status int) error {
	failed := ended(status) // the coordinator has said why
	if !started(r.dir) {
		return errors.Join(failed, store.Free(r.dir))
	}
	d, err := store.Open(r.dir)
	if err != nil {
		return exit(exitEnvironment, err)
	}
	defer d.Close()
	if failed != nil {
		say(lang.T("the results so far are in %s", r.dir))
		return failed
	}
	if r.study, err = storedStudy(r.dir); err != nil {
		return err
	}
	return r.report(d)
}

// bringHome looks at the run once: it shows what the coordinator prints, and when the run has ended it
// brings the results to the directory of r. It returns the exit status of the run.
func (r *runner) bringHome(ctx context.Context, c place.Cluster, l *onlooker) (status int, err error) {
	n, err := c.View(ctx)
	if err != nil {
		return 0, err
	}
	defer n.Close()
	l.part, l.lines = nil, 0
	var said bytes.Buffer
	err = n.Run(ctx, target.Cmd{Argv: []string{"weir", "coordinate", "--follow"}, Stdout: l, Stderr: &said})
	var ended interface{ ExitCode() int }
	if errors.As(err, &ended) && ended.ExitCode() >= 0 && ended.ExitCode() != exitLook {
		status, err = ended.ExitCode(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("%w %s", err, strings.TrimSpace(said.String()))
	}
	in, out := io.Pipe()
	go func() {
		out.CloseWithError(caught.Error(func() error {
			return n.Run(ctx, target.Cmd{Argv: []string{"weir", "coordinate", "--pack"}, Stdout: out})
		}))
	}()
	err = store.Unpack(in, r.dir)
	in.CloseWithError(err) // ends what still runs
	return status, err
}

// An onlooker shows what a coordinator prints. Lines that it has shown it leaves out when it looks again.
type onlooker struct {
	part  []byte // of a line
	lines int    // in this look
	shown int
}

func (l *onlooker) Write(b []byte) (int, error) {
	l.part = append(l.part, b...)
	for {
		line, rest, ok := bytes.Cut(l.part, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		l.part = rest
		if l.lines++; l.lines > l.shown {
			l.shown = l.lines
			say(lang.Text(strings.TrimSpace(string(line))))
		}
	}
}
