package agent

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/weir-bench/weir/internal/target"
)

// connected returns a node whose agent is this process. lose breaks the connection.
func connected(t *testing.T) (n *Node, lose func()) {
	t.Helper()
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(theirs, nil) }()
	n, err := Dial(t.Context(), "g", ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		n.Close()
		if err := <-ended; err != nil && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("the agent ended with %v", err)
		}
	})
	return n, func() { theirs.Close() }
}

// A Run callback can read a file: counters are read when an engine announces its window.
func TestReadWhileListening(t *testing.T) {
	n, _ := connected(t)
	dir := t.TempDir()
	for name, content := range map[string]string{"full": "counters\n", "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var got []byte
		var err error
		out := writer(func([]byte) { got, err = fs.ReadFile(n.FS(), filepath.Join(dir, name)[1:]) })
		if err := n.Run(t.Context(), target.Cmd{Argv: []string{"sh", "-c", "seq 1000"}, Stdout: out}); err != nil {
			t.Fatal(err)
		}
		if err != nil || string(got) != content {
			t.Errorf("%s: %q, %v, want %q", name, got, err, content)
		}
	}
}

// Every call returns, whatever an agent sends.
func FuzzClient(f *testing.F) {
	f.Add([]byte(`{"id":1,"out":"b3V0"}` + "\n" + `{"id":1,"exit":0}` + "\n" + `{"id":2,"answer":{"file":"eA=="}}`))
	f.Add([]byte(`{"id":1,"failed":"no","errno":2}` + "\n" + `{"id":2,"failed":"no"}`))
	f.Add([]byte(`{"id":1,"exit":-1}{"id":9}{"id":2,"reading":{"at":1}}`))
	f.Add([]byte(`{"id":"1"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, start, _ := hostile()
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if err := n.Run(t.Context(), target.Cmd{Argv: []string{"x"}, Stdout: io.Discard}); err != nil && err.Error() == "" {
					t.Error("an error without words")
				}
			})
			wg.Go(func() {
				if b, err := fs.ReadFile(n.FS(), "x"); err != nil && b != nil {
					t.Errorf("both %q and %v", b, err)
				}
			})
		}
		go func() {
			_, _ = start.Write(b) // until the client rejects it
			start.Close()
		}()
		wg.Wait()
		n.Close()
	})
}
