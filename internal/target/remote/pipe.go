package remote

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/foreign"
)

// A Pipe is a local program, such as ssh or kubectl, whose standard streams lead to another machine.
type Pipe struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *os.File
	said  tail
	ended chan struct{} // closed when the program has ended
	close func() error
	// patience is how long the program gets to end by itself, and then after SIGTERM.
	patience time.Duration
}

// endTime exceeds what the far end needs to end its own programs (local.Patience).
const endTime = 3 * time.Second

// leftTime is how long the streams of a program stay open after it when something else holds them,
// such as the master that ssh leaves behind for ControlPersist.
const leftTime = time.Second

// Start starts the program argv with env added to this process's environment. The program has its
// own process group, so Ctrl-C does not reach it.
func Start(argv, env []string) (*Pipe, error) {
	if len(argv) == 0 {
		return nil, errors.New("start a pipe: no program is named")
	}
	path, err := facts.LookPath(argv[0])
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, argv[1:]...)
	cmd.Args[0] = argv[0] // programs name themselves by it
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = leftTime
	p := &Pipe{cmd: cmd, ended: make(chan struct{}), patience: endTime}
	p.close = sync.OnceValue(p.finish)
	cmd.Stderr = &p.said
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	out, theirs, err := os.Pipe() // not StdoutPipe: Wait would close it before everything is read
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", argv[0], err), in.Close())
	}
	cmd.Stdout = theirs
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	p.in, p.out = in, out
	go func() {
		_ = cmd.Wait() // its status is in ProcessState
		close(p.ended)
		_ = out.SetReadDeadline(time.Now().Add(leftTime)) // it fails after Close
	}()
	return p, nil
}

// Read reads the program's standard output. Where it ends before Close, the error names the
// program, its exit status and the end of its standard error. It is io.EOF only after Close.
func (p *Pipe) Read(b []byte) (int, error) {
	n, err := p.out.Read(b)
	if n > 0 || err == nil {
		return n, nil
	}
	if errors.Is(err, os.ErrClosed) {
		return 0, io.EOF
	}
	select {
	case <-p.ended:
	case <-time.After(leftTime):
		return 0, fmt.Errorf("%s closed its output, but goes on", p.name())
	}
	err = fmt.Errorf("%s ended with %v", p.name(), p.cmd.ProcessState)
	if said := p.Said(); said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	return 0, err
}

func (p *Pipe) name() string { return filepath.Base(p.cmd.Path) }

// Write writes to the program's standard input.
func (p *Pipe) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close closes the program's standard input, ends the program with SIGTERM and then SIGKILL if it
// does not end by itself, and waits for it. Close again does nothing.
func (p *Pipe) Close() error { return p.close() }

func (p *Pipe) finish() error {
	_ = p.in.Close() // the far end ends with it; a program that has ended closed it, too
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-p.ended:
			return p.out.Close()
		case <-time.After(p.patience):
			_ = syscall.Kill(-p.cmd.Process.Pid, s) // it can have just ended
		}
	}
	<-p.ended
	return p.out.Close()
}

// Said returns the end of the program's standard error, at most 4 KiB of printable text.
func (p *Pipe) Said() string { return p.said.String() }

// tailSize is how much of a program's standard error is kept, bytes.
const tailSize = 4 << 10

// A tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	t.b = t.b[max(0, len(t.b)-tailSize):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return foreign.Text(strings.TrimSpace(string(t.b)))
}

// last returns the end of b for an error message.
func last(b []byte) string {
	return cmp.Or(foreign.Text(strings.TrimSpace(string(b[max(0, len(b)-300):]))), "nothing")
}
