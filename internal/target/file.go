package target

import (
	"bytes"
	"io/fs"
	"time"
)

// File returns a file with this content, for file trees that are not all on a disk.
func File(name string, content []byte) fs.File { return &file{bytes.NewReader(content), name} }

// A file is a file's content and its own fs.FileInfo.
type file struct {
	*bytes.Reader
	name string
}

func (f *file) Stat() (fs.FileInfo, error) { return f, nil }
func (f *file) Close() error               { return nil }
func (f *file) Name() string               { return f.name }
func (f *file) Mode() fs.FileMode          { return 0o444 }
func (f *file) ModTime() time.Time         { return time.Time{} }
func (f *file) IsDir() bool                { return false }
func (f *file) Sys() any                   { return nil }
