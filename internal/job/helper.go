package job

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/target"
)

// A helper is a command of this program on a node that records something from its first line, until its standard
// input ends.
type helper struct {
	node  string
	in    *io.PipeWriter
	out   *bytes.Buffer // valid once it has ended
	begun chan struct{} // closed with its first line
	ended chan error
}

// startHelper starts a helper, and returns when it records.
func startHelper(ctx context.Context, node target.Node, command ...string) (*helper, error) {
	r, w := io.Pipe()
	h := &helper{node.Name(), w, &bytes.Buffer{}, make(chan struct{}), make(chan error, 1)}
	var said bytes.Buffer
	go func() {
		cmd := target.Cmd{Argv: append([]string{"weir"}, command...), Stdin: r, Stdout: &firstLine{h.out, h.begun}, Stderr: &said}
		err := caught.Error(func() error { return node.Run(ctx, cmd) })
		if err != nil && said.Len() > 0 && !errors.Is(err, target.ErrLost) {
			err = errors.New(oneLine(said.String()))
		}
		r.CloseWithError(errors.New("it has ended"))
		h.ended <- err
	}()
	select {
	case <-h.begun:
		return h, nil
	case err := <-h.ended:
		return nil, fmt.Errorf("%s: %w", h.node, cmp.Or(err, errors.New("weir "+command[0]+" ended at once")))
	}
}

// oneLine returns the end of what a program of another machine printed.
func oneLine(said string) string {
	const most = 500
	said = strings.TrimPrefix(strings.TrimSpace(said), "weir: ")
	return strings.ReplaceAll(foreign.Text(said[max(0, len(said)-most):]), "\n", "; ")
}

// maxRecorded bounds the output of a helper, bytes.
const maxRecorded = 64 << 20

// firstLine closes begun when the first bytes come. They are a whole line: helpers print it in one write.
type firstLine struct {
	to    *bytes.Buffer
	begun chan struct{}
}

func (f *firstLine) Write(b []byte) (int, error) {
	if f.to.Len() == 0 {
		close(f.begun)
	}
	if f.to.Len()+len(b) > maxRecorded {
		return 0, fmt.Errorf("it recorded more than %d bytes", maxRecorded)
	}
	return f.to.Write(b)
}

// stop sends the last words, ends the helper and returns its output.
func (h *helper) stop(words string) ([]byte, error) {
	var unsent error
	if words != "" {
		_, unsent = io.WriteString(h.in, words)
	}
	h.in.Close()
	if err := cmp.Or(<-h.ended, unsent); err != nil {
		return nil, fmt.Errorf("%s: %w", h.node, err)
	}
	return h.out.Bytes(), nil
}

// tryHelper starts a helper and ends it, and returns why the node refuses it, or nil.
func tryHelper(ctx context.Context, node target.Node, command ...string) error {
	h, err := startHelper(ctx, node, command...)
	if err == nil {
		_, err = h.stop("")
	}
	return err
}
