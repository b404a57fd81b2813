package trial

import (
	"errors"
	"io/fs"
	"path"
	"sync"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/target"
)

// A Snapshot remembers what many trials ask for: files of hosts that weir does not change, because over a
// pipe every file costs a round trip, and which trial has stored the settings of a condition. Its zero
// value is empty; a run takes a new one for each block.
type Snapshot struct {
	mu       sync.Mutex
	files    map[setting]remembered
	settings map[string]string // trial, by Setup.Condition
}

// A setting is a file of a node.
type setting struct {
	node target.Node
	file string
}

type remembered struct {
	content []byte
	err     error
}

// remembers reports whether files of hosts stay as they are.
func (s *Setup) remembers() bool { return s.Snapshot != nil && s.Site.Topology.Exists }

// files returns a node's file tree, for settings.
func (s *Setup) files(n target.Node) fs.FS {
	if !s.remembers() {
		return n.FS()
	}
	return snapshotFS{s.Snapshot, n}
}

// fetch reads files of nodes into the snapshot, all at once.
func (s *Setup) fetch(files map[target.Node][]string) {
	if !s.remembers() {
		return
	}
	var all sync.WaitGroup
	for n, names := range files {
		for _, name := range names {
			all.Go(func() { // a later read returns the error
				_ = caught.Error(func() error { _, err := fs.ReadFile(s.files(n), name); return err })
			})
		}
	}
	all.Wait()
}

type snapshotFS struct {
	*Snapshot
	node target.Node
}

// Open reads a file of the node, or returns what the snapshot holds.
func (s snapshotFS) Open(name string) (fs.File, error) {
	at := setting{s.node, name}
	s.mu.Lock()
	f, known := s.Snapshot.files[at]
	s.mu.Unlock()
	if !known {
		f.content, f.err = fs.ReadFile(s.node.FS(), name)
		if f.err == nil || errors.Is(f.err, fs.ErrNotExist) { // other errors can pass
			s.mu.Lock()
			if s.Snapshot.files == nil {
				s.Snapshot.files = map[setting]remembered{}
			}
			s.Snapshot.files[at] = f
			s.mu.Unlock()
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	return target.File(path.Base(name), f.content), nil
}
