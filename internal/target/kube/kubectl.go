package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/plan"
)

// A kubectl calls the user's kubectl, with the user's configuration.
type kubectl struct {
	context   string // "" is the current one
	namespace string // "" is the context's
}

const (
	// callTime bounds a call. A credential plugin can need some seconds of it.
	callTime = time.Minute
	// maxOutput bounds what a call can print, bytes. 5000 nodes, which Kubernetes supports, print about 60 MB.
	maxOutput = 128 << 20
	// maxPlain bounds output other than JSON, such as the names of contexts, bytes.
	maxPlain = 1 << 20
	// maxItems and maxValues bound a list of objects: 5000 nodes have about a thousand values each, most of which weir
	// does not decode.
	maxItems, maxValues = 20_000, 8_000_000
	maxSaid             = 64 << 10 // of standard error
	maxWords            = 1500     // of an error in the cluster's words
)

// argv returns the command line of a call. Names follow "=", so that none can pass for a flag.
func (k kubectl) argv(args ...string) []string {
	argv := []string{"kubectl"}
	if k.context != "" {
		argv = append(argv, "--context="+k.context)
	}
	if k.namespace != "" {
		argv = append(argv, "--namespace="+k.namespace)
	}
	return append(argv, args...)
}

// typed returns the command line of a call as a user types it in sh(1).
func (k kubectl) typed(args ...string) string {
	argv := k.argv(args...)
	for i, a := range argv {
		argv[i] = plan.ShellWord(a)
	}
	return strings.Join(argv, " ")
}

// call runs kubectl to its end and returns what it printed. The error of a failed call is a *refusal.
func (k kubectl) call(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, advise("check that the cluster answers: kubectl cluster-info", "kubectl %s: no answer within %v", args[0], callTime))
	defer cancel()
	argv := k.argv(args...)
	path, err := facts.LookPath(argv[0])
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, advise("install it, or add its directory to PATH", "kubectl: not found in PATH")
	case err != nil:
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Args[0] = argv[0]
	out, said := limited{max: maxPlain}, capped{max: maxSaid}
	if slices.Contains(args, "json") {
		out.max = maxOutput
	}
	cmd.Stdout, cmd.Stderr = &out, &said
	if stdin != nil {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}                                // Ctrl-C in a terminal must not end a clean-up
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // with a plugin that waits for a login
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	switch {
	case out.err != nil:
		return nil, k.nonsense(fmt.Errorf("more than %d bytes", out.max), out.head, args)
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &refusal{called(args), words(said.buf.String()), err}
	}
	return out.buf, nil
}

var errTooMuch = errors.New("printed more")

// A limited buffer refuses what would exceed max bytes. Then the program that prints it ends. It never takes more than max,
// where a bytes.Buffer would double beyond it.
type limited struct {
	buf  []byte
	max  int
	err  error
	head []byte // the beginning of what was refused
}

func (l *limited) Write(b []byte) (int, error) {
	need := len(l.buf) + len(b)
	if need > l.max {
		if l.head == nil {
			l.head = slices.Concat(l.buf[:min(len(l.buf), maxQuoted)], b[:min(len(b), maxQuoted)])
		}
		l.buf, l.err = nil, errTooMuch
		return 0, errTooMuch
	}
	if need > cap(l.buf) {
		l.buf = append(make([]byte, 0, min(l.max, max(need, 2*cap(l.buf)))), l.buf...)
	}
	l.buf = append(l.buf, b...)
	return len(b), nil
}

// A capped buffer keeps the last half of max bytes or more. Its writer never blocks.
type capped struct {
	buf bytes.Buffer
	max int
}

func (c *capped) Write(b []byte) (int, error) {
	if c.buf.Len()+len(b) > c.max {
		c.buf.Next(max(0, c.buf.Len()-c.max/2))
		c.buf.Write(b[max(0, len(b)-c.max/2):])
		return len(b), nil
	}
	return c.buf.Write(b)
}

// A refusal is a call that failed, in the words of kubectl or the cluster.
type refusal struct {
	call string
	said string // "" if kubectl printed nothing
	err  error
}

func (r *refusal) Error() string {
	said := r.said
	if said == "" {
		said = r.err.Error()
	}
	fix := remedy(said)
	if fix == "" && !strings.Contains(said, "Error from server") { // the cluster's own words need no remedy
		fix = "check that kubectl works: kubectl cluster-info"
	}
	if fix != "" {
		said += "; " + fix
	}
	return "kubectl " + r.call + ": " + said
}

func (r *refusal) Unwrap() error { return r.err }

// says reports whether err is a refusal with one of these words.
func says(err error, some ...string) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return false
	}
	for _, s := range some {
		if strings.Contains(r.said, s) {
			return true
		}
	}
	return false
}

func forbidden(err error) bool { return says(err, "(Forbidden)") }
func notFound(err error) bool  { return says(err, "(NotFound)") }

// unanswered reports whether a call failed although the cluster has not refused it: it can have acted.
func unanswered(err error) bool {
	var r *refusal
	return err != nil && (!errors.As(err, &r) || says(err, "The connection to the server", "Unable to connect to the server", "EOF",
		"(Timeout)", "(ServerTimeout)", "(ServiceUnavailable)", "(TooManyRequests)", "Unauthorized"))
}

// remedies maps words of kubectl, of the API server, and of kubelet to what helps. The first match counts.
var remedies = []struct{ words, fix string }{
	{"exceeded quota", "free some of the quota, or choose another namespace (-N)"},
	{"failed quota", "the quota of the namespace wants limits, which distort measurements: choose another namespace (-N)"},
	{"denied the request", "a policy of the cluster forbids it: ask its administrator, or choose another namespace (-N)"},
	{"localhost:8080", "kubectl has no cluster: set KUBECONFIG, or choose a context (--context; kubectl config get-contexts lists them)"},
	{"asked for the client to provide credentials", "log in to the cluster again"},
	{"Unauthorized", "log in to the cluster again"},
	{"getting credentials", "log in to the cluster: kubectl get pods must work without a question"},
	{"The connection to the server", "check that the cluster answers: kubectl cluster-info"},
	{"Unable to connect to the server", "check that the cluster answers: kubectl cluster-info"},
	{"untolerated taint", "choose other nodes (--nodes), or name this one (--nodes) so that weir's pods tolerate its taints"},
	{"Insufficient", "choose other nodes (--nodes), or free some of this node's requests"},
	{"node affinity", "choose other nodes (--nodes)"},
	{"InvalidImageName", "correct the image's name (--image)"},
	{"ErrImageNeverPull", "load the image on the node"},
	{"rrImagePull", imageRemedy},
	{"ImagePullBackOff", imageRemedy},
	{"StartError", programRemedy}, // of containerd
	{"ContainerCannotRun", programRemedy},
	{"RunContainerError", programRemedy},
	{"(Forbidden)", "ask for the permissions that docs/kubernetes.md lists"},
}

const imageRemedy = "choose an image that the node can pull (--image), or load one that weir image writes on the node"

const programRemedy = "the image must hold weir of this version as /weir (--image), or a shell (--shell-image)"

// remedy returns what helps against words of the cluster, or "".
func remedy(said string) string {
	for _, r := range remedies {
		if strings.Contains(said, r.words) {
			return r.fix
		}
	}
	return ""
}

// klog matches a log line of kubectl itself: level, month, day, time (k8s.io/klog/v2).
var klog = regexp.MustCompile(`^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ `)

// words returns the part of kubectl's standard error that says why it failed: without warnings, log lines
// and control characters, on one line of at most maxWords bytes. It is everything where nothing else
// is left.
func words(stderr string) string {
	var errs, all []string
	for line := range strings.Lines(stderr) {
		line = oneLine(line)
		line = strings.Replace(line, `error when creating "STDIN": `, "", 1)
		if line == "" {
			continue
		}
		all = append(all, line)
		if !strings.HasPrefix(line, "Warning:") && !klog.MatchString(line) {
			errs = append(errs, line)
		}
	}
	if len(errs) == 0 {
		errs = all
	}
	return bounded(strings.Join(errs, " "))
}

func bounded(s string) string {
	if len(s) > maxWords {
		s = strings.ToValidUTF8(s[:maxWords], "") + "…"
	}
	return s
}

// oneLine returns text of the cluster, which can hold anything, on one printable line of bounded length.
func oneLine(s string) string { return strings.Join(strings.Fields(foreign.Text(bounded(s))), " ") }

// An advised error keeps its remedy apart from what happened.
type advised struct {
	err error
	fix string
}

func (a *advised) Error() string { return a.err.Error() + "; " + a.fix }
func (a *advised) Unwrap() error { return a.err }

func advise(fix, format string, args ...any) error {
	return &advised{fmt.Errorf(format, args...), fix}
}

// A UsageError names a context, namespace or node that does not exist. The command line or the study
// is wrong, not the cluster.
type UsageError struct{ error }

func (u *UsageError) Unwrap() error { return u.error }
