package bisection

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/bisect"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/internal/topo"
)

// programsWord stands for the directory of the programs in a build command. The command's environment has that
// directory, too.
const programsWord, programsVariable = "{programs}", "WEIR_PROGRAMS"

// mostCommits bounds a search.
const mostCommits = 10_000

// asked returns the search that the options ask for, before any comparison.
func (b *bisection) asked(ctx context.Context) (out bisect.Outcome, err error) {
	out = bisect.Outcome{Format: bisect.Format, Verdict: bisect.Open, Build: b.Build, Guests: b.Guests, Nodes: b.Nodes, Certainty: b.Certainty, Least: b.Least,
		Network: b.Study.Networks[0].Kind, Probe: b.Study.Probes[0].Name, Steps: []bisect.Step{}}
	switch {
	case b.Guests != nil:
		askedKernels(&out)
		return out, nil
	case b.Nodes != nil:
		askedNodes(&out)
		return out, nil
	}
	if out.Repo, err = b.git(ctx, b.Repo, "rev-parse", "--show-toplevel"); err != nil {
		return out, failure.Usage.Errorf("--repo %s: %w", b.Repo, err)
	}
	for _, end := range []struct {
		to   *string
		name string
	}{{&out.Good, b.Good}, {&out.Bad, b.Bad}} {
		if *end.to, err = b.git(ctx, out.Repo, "rev-parse", "--verify", "--quiet", "--end-of-options", end.name+"^{commit}"); err != nil {
			return out, failure.Usage.Errorf("%s is not a commit of %s: give a hash, a tag or a branch", end.name, out.Repo)
		}
	}
	lines, err := b.git(ctx, out.Repo, "log", "--first-parent", "--reverse", "--format=%H%x09%P%x09%s", out.Good+".."+out.Bad)
	if err != nil {
		return out, failure.Usage.Of(err)
	}
	for i, line := range strings.Split(lines, "\n") {
		f := strings.SplitN(line, "\t", 3)
		if len(f) < 3 || i == 0 && !strings.HasPrefix(f[1], out.Good) {
			return out, failure.Usage.Errorf("%s is not among the first parents of %s: GOOD must be older, and on the same line of commits; find one with: git log --first-parent %s", b.Good, b.Bad, b.Bad)
		}
		out.Commits = append(out.Commits, bisect.Commit{Hash: f[0], Subject: f[2]})
	}
	if n := len(out.Commits); n > mostCommits {
		return out, failure.Usage.Errorf("%d commits from %s to %s: want at most %d", n, b.Good, b.Bad, mostCommits)
	}
	return out, nil
}

// git runs git in a directory and returns what it prints.
func (b *bisection) git(ctx context.Context, dir string, args ...string) (string, error) {
	var out, said bytes.Buffer
	cmd, _ := local.Command(ctx, append([]string{"git", "-C", dir}, args...), nil)
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, lastLine(said.Bytes()))
	}
	return strings.TrimSpace(out.String()), nil
}

// lastLine returns the last line of an output.
func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b[max(0, len(b)-500):])), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// tree is where commits are checked out: outside of every repository, because files of a repository could change a
// build. The same search always has the same tree, so that it can remove what a killed one left.
func (b *bisection) tree() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "weir", "bisect", fmt.Sprintf("%x", sha256.Sum256([]byte(b.Dir)))[:16])
}

func (b *bisection) removeTree() {
	if b.Repo != "" && os.RemoveAll(b.tree()) == nil {
		_, _ = b.git(context.Background(), b.Repo, "worktree", "prune") // the next one does, too
	}
}

// tag is in the environment of everything that a search starts.
func (b *bisection) tag() string { return "WEIR_BISECT=" + b.Dir }

// sweep ends the processes that a killed search left, and removes its worktree.
func (b *bisection) sweep() {
	local.Tag(b.tag()).End(math.MaxInt32) // no such group
	b.removeTree()
}

// programs is the directory of a candidate's programs.
func (b *bisection) programs(candidate int) string {
	return filepath.Join(b.Dir, programsDir, b.out.Name(b.out.Hash(candidate)))
}

// build makes the programs of a candidate, once. It returns why it cannot.
func (b *bisection) build(ctx context.Context, candidate int) (why string, err error) {
	dir, hash := b.programs(candidate), b.out.Hash(candidate)
	if _, err := os.Stat(dir); err == nil {
		return "", nil
	}
	b.Tell.Say(lang.T("building %.12s", hash))
	made := dir + ".new"
	if err := errors.Join(os.RemoveAll(made), os.MkdirAll(made, 0o777), os.MkdirAll(filepath.Dir(b.tree()), 0o700)); err != nil {
		return "", failure.Environment.Of(err)
	}
	defer os.RemoveAll(made)
	defer b.removeTree()
	if _, err := b.git(ctx, b.Repo, "worktree", "add", "--detach", "--force", b.tree(), hash); err != nil {
		return "", failure.Environment.Of(err)
	}
	if why, err = b.command(ctx, made, dir+".log"); why != "" || err != nil {
		return why, err
	}
	if made, err := os.ReadDir(made); err == nil && len(made) == 0 {
		return fmt.Sprintf("the build command leaves no program in %s, as go build -o %s/NAME does", programsWord, programsWord), nil
	}
	return "", failure.Environment.Of(os.Rename(made, dir))
}

// command runs the build command in the worktree. It returns why the command failed, with its last words.
func (b *bisection) command(ctx context.Context, programs, logFile string) (why string, err error) {
	log, err := os.Create(logFile)
	if err != nil {
		return "", failure.Environment.Of(err)
	}
	defer log.Close()
	timed, cancel := context.WithTimeoutCause(ctx, b.BuildTimeout, fmt.Errorf("still building after %v (--build-timeout)", b.BuildTimeout))
	defer cancel()
	argv := slices.Clone(b.Build)
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], programsWord, programs)
	}
	cmd, tag := local.Command(timed, argv, []string{programsVariable + "=" + programs, b.tag()})
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.tree(), log, log
	if err := cmd.Start(); err != nil {
		return "", failure.Usage.Errorf("build command %s: %w", argv[0], err)
	}
	err = cmd.Wait()
	tag.End(cmd.Process.Pid)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case timed.Err() != nil:
		err = context.Cause(timed)
	case err == nil:
		return "", nil
	}
	said, _ := os.ReadFile(logFile) // it only adds to the reason
	return strings.TrimSuffix(fmt.Sprintf("%v: %s", err, lastLine(said)), ": "), nil
}

// unused returns why the programs of a candidate cannot stand for its commit; "" if they can. If the study starts none
// of the programs that GOOD makes, builds cannot differ; if it starts others, it would measure installed ones.
func (b *bisection) unused(candidate int) (why string, err error) {
	starts, err := b.starts()
	if err != nil {
		return "", err
	}
	made := [2][]string{}
	for i, c := range []int{0, candidate} {
		entries, err := os.ReadDir(b.programs(c))
		if err != nil {
			return "", failure.Environment.Of(err)
		}
		for _, e := range entries {
			if candidate == 0 || slices.Contains(starts, e.Name()) {
				made[i] = append(made[i], e.Name())
			}
		}
	}
	switch {
	case candidate == 0 && !slices.ContainsFunc(made[0], func(name string) bool { return slices.Contains(starts, name) }):
		return "", failure.Usage.Errorf("the build makes %s, and the study starts no program of that name: %s and %s start %s", strings.Join(made[0], ", "),
			b.out.Network, b.out.Probe, strings.Join(starts, ", "))
	case !slices.Equal(made[0], made[1]):
		return fmt.Sprintf("of the programs that the study starts, it makes %q, and GOOD makes %q", made[1], made[0]), nil
	}
	return "", nil
}

// starts lists the programs that the network and the probe start, by name.
func (b *bisection) starts() (names []string, err error) {
	n, err := catalog.FindNetwork(b.Study.Networks[0].Kind)
	var d network.Driver
	if err == nil {
		d, err = n.Driver(b.Study.Networks[0])
	}
	if err != nil {
		return nil, failure.Usage.Of(err)
	}
	t, err := topo.New(n.Spec(d, topo.Spec{}))
	if err != nil {
		return nil, failure.Usage.Of(err)
	}
	p, err := d.Plan(t)
	if err != nil {
		return nil, failure.Usage.Of(err)
	}
	pr, err := catalog.FindProbe(b.Study.Probes[0].Kind)
	if err != nil {
		return nil, failure.Usage.Of(err)
	}
	names = p.Programs()
	for _, tool := range pr.Info().Tools {
		names = append(names, tool.Program)
	}
	if len(pr.Info().Tools) == 0 {
		names = append(names, "weir")
	}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
