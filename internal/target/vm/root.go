package vm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A root describes the sources of a guest's "/". Paths are the host's.
type root struct {
	Version string `json:"version"` // of the kernel
	Modules string `json:"modules"` // its lib/modules/VERSION
	Write   string `json:"write,omitempty"`
}

// 9p options. The host's files do not change under a guest, so they are cached. A guest's write(2)
// returns after the data is on the host.
const (
	p9          = "trans=virtio,version=9p2000.L,msize=512000"
	p9ReadOnly  = p9 + ",cache=loose,ro"
	p9WriteThru = p9 + ",cache=none,access=any"
)

// enter makes the host's files the root of this process and of the kernel: process 1 shares its
// root with kernel threads, which start modprobe(8) from there (init/main.c, rest_init;
// kernel/umh.c).
func (r root) enter() error {
	const upper, work = "/" + layer + "/upper", "/" + layer + "/work"
	at := func(dir string) string { return "/" + merged + dir }
	steps := []mount{
		{rootTag, "/" + lower, "9p", p9ReadOnly},
		{"tmpfs", "/" + layer, "tmpfs", "mode=755"},
		{"overlay", "/" + merged, "overlay", "lowerdir=/" + lower + ",upperdir=" + upper + ",workdir=" + work},
		{"proc", at("/proc"), "proc", ""},
		{"sysfs", at("/sys"), "sysfs", ""},
		{"cgroup2", at("/sys/fs/cgroup"), "cgroup2", ""},
		{"devtmpfs", at("/dev"), "devtmpfs", ""},
		{"devpts", at("/dev/pts"), "devpts", "mode=620,ptmxmode=666"},
		{"tmpfs", at("/dev/shm"), "tmpfs", "mode=1777"},
		{"tmpfs", at("/run"), "tmpfs", "mode=755"}, // hides the sockets and process IDs of the host's daemons
	}
	// An installed kernel has its modules in place.
	if place := "/lib/modules/" + r.Version; r.Modules != place && r.Modules != "/usr"+place {
		steps = append(steps, mount{at(r.Modules), at(place), "bind", ""})
	}
	if r.Write != "" {
		steps = append(steps, mount{writeTag, at(r.Write), "9p", p9WriteThru})
	}
	for _, m := range steps {
		if err := m.mount(); err != nil {
			return err
		}
		if m.kind == "tmpfs" && m.to == "/"+layer {
			if err := errors.Join(os.Mkdir(upper, 0o755), os.Mkdir(work, 0o755)); err != nil {
				return err
			}
		}
	}
	// Like switch_root(8): pivot_root(2) cannot replace an initramfs.
	if err := os.Chdir("/" + merged); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move the root: %w", err)
	}
	return errors.Join(unix.Chroot("."), os.Chdir("/"))
}

// A mount is one call of mount(2).
type mount struct{ from, to, kind, options string }

// mount also makes the directory, in the layer above the host's files.
func (m mount) mount() error {
	if err := os.MkdirAll(m.to, 0o755); err != nil {
		return err
	}
	var flags uintptr
	kind := m.kind
	if kind == "bind" {
		flags, kind = unix.MS_BIND, ""
	}
	if err := unix.Mount(m.from, m.to, kind, flags, m.options); err != nil {
		return fmt.Errorf("mount %s on %s: %w", m.kind, filepath.Clean(m.to), err)
	}
	return nil
}
