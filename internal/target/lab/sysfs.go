package lab

import (
	"io/fs"
	"math/big"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/target/local"
)

// devices is the part of sysfs that shows a network namespace's devices.
const devices = "sys/class/net/"

// A sysfs is the sysfs of one network namespace, mounted nowhere and only for reading: writing the
// files of its devices needs privileges on the machine.
type sysfs struct {
	once sync.Once
	root *os.File // nil if it could not be mounted
	err  error
}

// open opens a file below devices in ns.
func (s *sysfs) open(ns *netns.Namespace, name string) (fs.File, error) {
	s.once.Do(func() {
		s.err = ns.Do(func() (err error) {
			s.root, err = mountSys()
			return err
		})
	})
	if s.err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: s.err}
	}
	fd, err := unix.Openat(int(s.root.Fd()), strings.TrimPrefix(name, "sys/"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (s *sysfs) close() error {
	if s.root == nil {
		return nil
	}
	return s.root.Close()
}

// mountSys returns the root of the sysfs of the calling thread's network namespace. It fails with
// EPERM in a container that hides parts of /sys (fs/namespace.c, mount_too_revealing).
func mountSys() (*os.File, error) {
	return detached("sysfs", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
}

// detached returns the root of a new file system that is mounted nowhere. It fails with ENOSYS before Linux 5.2.
func detached(kind string, attributes int) (*os.File, error) {
	context, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("fsopen", err)
	}
	defer unix.Close(context)
	if err := unix.FsconfigCreate(context); err != nil {
		return nil, os.NewSyscallError("fsconfig", err)
	}
	root, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, attributes)
	if err != nil {
		return nil, os.NewSyscallError("fsmount", err)
	}
	return os.NewFile(uintptr(root), kind), nil
}

// allCPUs returns the mask of the CPUs that this process can use, in hexadecimal.
func allCPUs() string {
	mask := new(big.Int)
	for _, cpu := range local.CPUs() {
		mask.SetBit(mask, cpu, 1)
	}
	return mask.Text(16)
}
