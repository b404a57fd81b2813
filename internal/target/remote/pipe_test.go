package remote

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/nstest"
)

func started(t *testing.T, argv ...string) *Pipe {
	t.Helper()
	nstest.Need(t)
	p, err := Start(argv, []string{"WORD=value"})
	if err != nil {
		t.Fatal(err)
	}
	p.patience = 100 * time.Millisecond
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", p.cmd.Process.Pid)); err == nil {
			t.Error("the program is left")
		}
	})
	return p
}

func TestPipe(t *testing.T) {
	p := started(t, "sh", "-c", `echo "$WORD"; exec cat`)
	if _, err := io.WriteString(p, "and back\n"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len("value\nand back\n"))
	if _, err := io.ReadFull(p, got); err != nil || string(got) != "value\nand back\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// The end of a program is an error that explains it, after all of its output.
func TestPipeEnds(t *testing.T) {
	for script, want := range map[string]string{
		`echo out; echo "Permission denied (publickey)." >&2; exit 255`: "sh ended with exit status 255: Permission denied (publickey).",
		`echo out; printf '\033]0;title\007evil' >&2`:                   `sh ended with exit status 0: \x1b]0;title\x07evil`,
		`echo out; kill -9 $$`:                                          "sh ended with signal: killed",
		`echo out; yes error | head -n 10000 >&2; echo last >&2`:        "error\nlast",
	} {
		p := started(t, "sh", "-c", script)
		out, err := io.ReadAll(p)
		if string(out) != "out\n" || err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %q", script, out, err, want)
		}
		if len(p.Said()) > tailSize {
			t.Errorf("%s: %d bytes were kept", script, len(p.Said()))
		}
	}
}

// A program that leaves another one with its streams behind has ended, too.
func TestPipeHeld(t *testing.T) {
	t.Parallel()
	p := started(t, "sh", "-c", `sleep 1000 & echo $!; exit 3`)
	out, err := io.ReadAll(p)
	if err == nil || !strings.HasSuffix(err.Error(), "sh ended with exit status 3") {
		t.Errorf("%v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	reap()
}

// A program that closes its output and goes on has not ended well.
func TestPipeClosed(t *testing.T) {
	t.Parallel()
	p := started(t, "sh", "-c", "exec >&-; read -r _")
	if _, err := p.Read(make([]byte, 1)); err == nil || err.Error() != "sh closed its output, but goes on" {
		t.Errorf("error %v", err)
	}
}

// Close ends a program that ends by itself, one that needs a signal and one that ignores it, and a
// pending read.
func TestPipeClose(t *testing.T) {
	for _, script := range []string{"echo ready; exec cat", "echo ready; exec sleep 1000", "trap '' TERM; echo ready; exec sleep 1000"} {
		p := started(t, "sh", "-c", script)
		ready, read := make([]byte, len("ready\n")), make(chan error)
		if _, err := io.ReadFull(p, ready); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := p.Read(ready)
			read <- err
		}()
		if err := p.Close(); err != nil {
			t.Errorf("%s: %v", script, err)
		}
		if err := <-read; err == nil {
			t.Errorf("%s: a read succeeded", script)
		}
	}
}

func TestPipeStart(t *testing.T) {
	for _, argv := range [][]string{nil, {"no-such-program"}} {
		if p, err := Start(argv, nil); err == nil {
			t.Errorf("%q: started %v", argv, p)
		}
	}
}
