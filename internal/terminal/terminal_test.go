package terminal

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

// run runs a shell program that draws on a terminal and quits when it reads "q".
func run(t *testing.T, ctx context.Context, script string) (string, int, error) {
	t.Helper()
	var out bytes.Buffer
	status, err := Run(ctx, Script{Cols: 100, Rows: 40, Key: "q\n", Texts: []string{"never", "quit?"}},
		[]string{"sh", "-c", script}, &out)
	return out.String(), status, err
}

func TestRun(t *testing.T) {
	out, status, err := run(t, t.Context(), `stty size; test -t 0 && test -t 1 && printf 'qu'; printf 'it?'; read key; echo "<$key>"; exit 7`)
	if err != nil || status != 7 {
		t.Errorf("status %d, %v, want 7", status, err)
	}
	for _, want := range []string{"40 100", "quit?", "<q>"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q", want, out)
		}
	}
	// Run does not wait for a program that ends before it is asked to.
	if out, status, err := run(t, t.Context(), "echo done"); err != nil || status != 0 || out != "done\r\n" {
		t.Errorf("%q, status %d, %v", out, status, err)
	}
	if _, err := Run(t.Context(), Script{}, []string{"/nonexistent"}, nil); err == nil {
		t.Error("a program that is not there: no error")
	}
}

type onWrite func()

func (f onWrite) Write(b []byte) (int, error) { f(); return len(b), nil }

func TestRunIsCanceled(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := Run(ctx, Script{}, []string{"sh", "-c", "trap '' HUP; echo here; exec sleep 1000"}, onWrite(func() { cancel(why) }))
	if !errors.Is(err, why) {
		t.Errorf("%v, want the cause of the cancellation", err)
	}
}
