package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/kube"
)

// AttachOptions name a run that is in progress in a cluster.
type AttachOptions struct {
	Caller
	At  place.Place // see place.Attached; entered
	Job string      // of the coordinator
	Dir string      // for the results
}

// Attach shows a run that an earlier command has started in a cluster until it ends, brings the results home, and
// stores the report.
func Attach(ctx context.Context, o AttachOptions) (*Outcome, error) {
	r := runner{RunOptions{Caller: o.Caller, At: o.At, Dir: o.Dir}}
	return r.home(r.look(ctx, o.At.Machines.(place.Cluster), o.Job))
}

// home reports a run whose results are in d; nil if it has none.
func (r *runner) home(d *store.Dir, err error) (*Outcome, error) {
	switch {
	case err != nil:
		return nil, err
	case d == nil:
		return &Outcome{Dir: r.Dir}, nil
	}
	return r.report(d)
}

// inCluster starts the run's coordinator in the cluster, shows its progress and brings the results home. The
// caller closes their directory, which is nil if there are none.
func (r *runner) inCluster(ctx context.Context) (*store.Dir, error) {
	r.Dir = r.newDir()
	if err := store.Free(r.Dir); err != nil {
		return nil, failure.Environment.Of(err)
	}
	b, err := r.Study.Encode()
	if err != nil {
		return nil, failure.Usage.Of(err)
	}
	c, _ := r.At.Machines.(place.Cluster) // of every study with a cluster
	r.Tell.Say(lang.T("starting agents on %d nodes", r.Study.Topology.Hosts))
	job, err := c.Launch(ctx, kube.Order{Study: b, Takes: catalog.Estimate(r.Study)})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, failure.Environment.Of(err)
	}
	c.Own(false)
	if !c.Kept() {
		r.Tell.Note(lang.T("until they are brought home, the results are on the disk of the coordinator's node, and are lost with its pod; --volume CLAIM keeps them"))
	}
	r.Tell.Say(lang.T("the run goes on in the cluster as %s, even when this command ends", job))
	return r.look(ctx, c, job)
}

const (
	lookTries = 5 // in a row, to look at a run
	lookPause = 3 * time.Second
)

// look shows a run in the cluster until it ends, brings its results home and removes its objects.
func (r *runner) look(ctx context.Context, c place.Cluster, job string) (*store.Dir, error) {
	l := &onlooker{say: r.Tell.Say}
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
		return nil, failure.Environment.Errorf("%w; results on the disk of its node are lost, and those on a claim of yours (--volume) stay there, in the directory %s", err, job)
	}
	r.Tell.Say(lang.T("the run goes on in the cluster; to see it and bring its results home: %s", attachCommand(c, job)))
	r.Tell.Say(lang.T("to end it: %s", c.RemoveCommand()))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, failure.Environment.Errorf("cannot look at the run: %w", err)
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

// arrived opens the results of a run that has ended with an exit status, if there are any.
func (r *runner) arrived(status int) (*store.Dir, error) {
	failed := failure.Ended(status) // the coordinator has said why
	if !Started(r.Dir) {
		return nil, errors.Join(failed, store.Free(r.Dir))
	}
	d, err := store.Open(r.Dir)
	if err != nil {
		return nil, failure.Environment.Of(err)
	}
	if failed != nil {
		r.Tell.Say(lang.T("the results so far are in %s", r.Dir))
		return nil, errors.Join(failed, d.Close())
	}
	if r.Study, err = StoredStudy(r.Dir); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// bringHome looks at the run once: it shows what the coordinator prints, and when the run has ended it
// brings the results to the directory of r. It returns the exit status of the run.
func (r *runner) bringHome(ctx context.Context, c place.Cluster, l *onlooker) (status int, err error) {
	n, pod, err := c.View(ctx)
	if err != nil {
		return 0, err
	}
	defer n.Close()
	l.look(pod)
	var said bytes.Buffer
	err = n.Run(ctx, target.Cmd{Argv: []string{"weir", "coordinate", "--follow"}, Stdout: l, Stderr: &said})
	var ended interface{ ExitCode() int }
	if errors.As(err, &ended) && ended.ExitCode() >= 0 && ended.ExitCode() != LookFailed {
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
	err = store.Unpack(in, r.Dir)
	in.CloseWithError(err) // ends what still runs
	return status, err
}

// An onlooker shows what a coordinator prints. When it looks again, it leaves out lines that it has shown.
type onlooker struct {
	say   func(lang.Text)
	pod   string
	part  []byte // of a line
	lines int    // in this look
	shown int
}

// look begins a look at a pod, which prints everything from its start.
func (l *onlooker) look(pod string) {
	if l.pod != pod {
		l.shown = 0
	}
	l.pod, l.part, l.lines = pod, nil, 0
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
			l.say(lang.Text(strings.TrimSpace(string(line))))
		}
	}
}
