package vm

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/weir-bench/weir/internal/foreign"
)

// Paths in the initramfs.
const (
	selfFile  = "weir"
	moduleDir = "modules" // file names sort in loading order
)

// writeImage writes an initramfs: this program, the modules of k to load, and mount points.
func writeImage(w io.Writer, k Kernel) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := checkStatic("/proc/self/exe"); err != nil {
		return fmt.Errorf("%s: %w", self, err)
	}
	b := bufio.NewWriterSize(w, 1<<20)
	c := cpio{w: b}
	for _, dir := range []string{"dev", "proc", "sys", lower, layer, merged, moduleDir} {
		c.dir(dir)
	}
	c.file(selfFile, "/proc/self/exe", 0o755)
	for i, m := range k.load {
		c.file(fmt.Sprintf("%s/%02d-%s", moduleDir, i, filepath.Base(m)), filepath.Join(k.Modules, m), 0o644)
	}
	c.end()
	if err := errors.Join(c.err, b.Flush()); err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}
	return nil
}

// checkStatic returns an error when a program needs a dynamic linker, which an initramfs lacks.
func checkStatic(file string) error {
	f, err := elf.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("is linked dynamically and cannot be process 1 of a guest: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// A cpio writes the newc format (Documentation/driver-api/early-userspace/buffer-format.rst in the
// kernel's source). After the first error it does nothing.
type cpio struct {
	w   io.Writer
	ino int
	err error
}

// File types (include/uapi/linux/stat.h).
const (
	typeDir  = 0o040000
	typeFile = 0o100000
)

func (c *cpio) dir(name string) { c.entry(name, typeDir|0o755, nil) }

func (c *cpio) file(name, from string, perm uint32) {
	content, err := foreign.ReadFile(from, maxFile)
	c.err = errors.Join(c.err, err)
	c.entry(name, typeFile|perm, content)
}

func (c *cpio) end() { c.entry("TRAILER!!!", 0, nil) }

// entry writes a header, the name and content, padding the latter two to multiples of 4 bytes.
// Eight hexadecimal digits hold sizes up to 4 GiB.
func (c *cpio) entry(name string, mode uint32, content []byte) {
	if c.err != nil {
		return
	}
	c.ino++
	// magic, ino, mode, uid, gid, nlink, mtime, size, device (2), rdevice (2), name, checksum
	head := fmt.Sprintf("070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\x00",
		c.ino, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name)+1, 0, name)
	for _, part := range [][]byte{[]byte(head), content} {
		_, err := c.w.Write(append(part, make([]byte, -len(part)&3)...))
		c.err = errors.Join(c.err, err)
	}
}
