// Package pause makes the image of the containers under test. It holds only this program, which
// waits there, so nothing is downloaded and a container costs only its network.
//
// The package must not know which engine runs the containers.
package pause

import (
	"archive/tar"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
)

// Image writes a container's root file system to the file name: a tar(1) archive of this program as
// /weir. Started as `/weir pause`, it waits for SIGTERM.
func Image(name string) (err error) {
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer program.Close()
	if err := static(program); err != nil {
		return err
	}
	info, err := program.Stat()
	if err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := tar.NewWriter(f)
	if err := w.WriteHeader(&tar.Header{Name: "weir", Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	if _, err := io.Copy(w, program); err != nil {
		return fmt.Errorf("image %s: %w", name, err)
	}
	return w.Close()
}

// static returns an error unless the program is statically linked.
func static(program io.ReaderAt) error {
	f, err := elf.NewFile(program)
	if err != nil {
		return err
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("weir is dynamically linked, and the image has no libraries; build it with CGO_ENABLED=0, as make does")
		}
	}
	return nil
}
