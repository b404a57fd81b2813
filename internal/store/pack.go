package store

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Pack writes a results directory as a compressed tar archive, an empty one if there is none. No run may
// write to the directory.
func Pack(w io.Writer, dir string) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed) // raw output of rounds is compressed already
	if err != nil {
		return err
	}
	all := tar.NewWriter(z)
	if err = all.AddFS(os.DirFS(dir)); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, all.Close(), z.Close()); err != nil {
		return fmt.Errorf("pack %s: %w", dir, err)
	}
	return nil
}

// Free removes dir if it is empty, and returns an error if it is not.
func Free(dir string) error {
	err := os.Remove(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: cannot hold results: %w; use another -o", dir, err)
	}
	return nil
}

// Unpack makes the directory dir of what Pack wrote. It appears when it is complete, or not at all. An
// archive cannot write anywhere else.
func Unpack(r io.Reader, dir string) (err error) {
	dir = filepath.Clean(dir)
	if err := Free(dir); err != nil {
		return err
	}
	temp := dir + ".partial"
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("unpack %s: %w", dir, err), os.RemoveAll(temp))
		}
	}()
	if err := errors.Join(os.RemoveAll(temp), os.MkdirAll(temp, 0o777)); err != nil {
		return err
	}
	root, err := os.OpenRoot(temp)
	if err != nil {
		return err
	}
	defer root.Close()
	z, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	for all := tar.NewReader(z); ; {
		h, err := all.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = unpackFile(root, h, all)
		}
		if err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, z); err != nil { // its checksum comes last
		return err
	}
	// The sender removes its copy when this one is complete: a power cut must not take both.
	top, err := root.Open(".")
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Syncfs(int(top.Fd())), top.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

func unpackFile(root *os.Root, h *tar.Header, body io.Reader) error {
	name := path.Clean(h.Name)
	switch h.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, 0o777)
	case tar.TypeReg:
	default:
		return fmt.Errorf("%q is neither a file nor a directory", h.Name)
	}
	if in := path.Dir(name); in != "." {
		if err := root.MkdirAll(in, 0o777); err != nil {
			return err
		}
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, body)
	return errors.Join(err, f.Close())
}
