// Package confine gives up what a command does not need: capabilities, new privileges, the start of programs and
// changes to files. Neither this process nor anything that it starts gets them back.
//
// It must not know the commands, and must not make system calls that carry traffic dearer. A seccomp filter would
// run before each of them; Landlock acts where files are opened, changed and executed
// (Documentation/userspace-api/landlock.rst).
package confine

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock's rights of its first version, Linux 5.13, and truncate of its third, Linux 6.2, without which truncate(2)
// is free. None covers the mode, the owner and the times of a file.
const (
	execute = unix.LANDLOCK_ACCESS_FS_EXECUTE
	change  = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	truncate = unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// Reader confines a command that reads results and writes reports: root can still do so in directories of other
// users. It starts no program.
func Reader() error {
	return confine(execute, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH)
}

// Engine confines a command that measures over sockets. It starts no program and changes no file. It keeps large
// socket buffers (SO_RCVBUFFORCE), restricted congestion control, raw sockets for echoes, AF_XDP, low ports, and pages
// locked for zero-copy sends beyond RLIMIT_MEMLOCK (mm_account_pinned_pages, net/core/skbuff.c). With reading, root
// also keeps reading the files of others.
func Engine(reading bool) error {
	keep := []uint{unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_NET_BIND_SERVICE, unix.CAP_IPC_LOCK}
	if reading {
		keep = append(keep, unix.CAP_DAC_READ_SEARCH)
	}
	return confine(execute|change|truncate, keep...)
}

// confine keeps the capabilities of keep and denies rights to files, in all threads. Where the kernel lacks
// Landlock, the rights stay. A program built with cgo stays as it is: its threads are not all Go's.
func confine(denied uint64, keep ...uint) error {
	_, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
	if errno == syscall.ENOTSUP {
		return nil
	}
	if errno != 0 {
		return fmt.Errorf("give up privileges: PR_SET_NO_NEW_PRIVS: %w", errno)
	}
	return errors.Join(deny(denied), only(keep))
}

// only drops all capabilities but those of keep. With no_new_privs, executing a program as root brings none back
// (cap_bprm_creds_from_file, security/commoncap.c).
func only(keep []uint) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData // 32 bits each
	if err := unix.Capget(&header, &caps[0]); err != nil {
		return fmt.Errorf("give up capabilities: capget: %w", err)
	}
	var kept [2]uint32
	for _, c := range keep {
		kept[c/32] |= 1 << (c % 32)
	}
	for i := range caps {
		caps[i] = unix.CapUserData{Effective: caps[i].Effective & kept[i], Permitted: caps[i].Permitted & kept[i]}
	}
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&caps[0])), 0); errno != 0 {
		return fmt.Errorf("give up capabilities: capset: %w", errno)
	}
	return nil
}

// deny denies Landlock rights everywhere. Each thread gets a domain of its own; signals and /proc between the threads
// of a process do not depend on it.
func deny(rights uint64) error {
	version, _, errno := syscall.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno == 0 && version < 3 { // it refuses rights that it does not know
		rights &^= truncate
	}
	ruleset := unix.LandlockRulesetAttr{Handled_access_fs: rights}
	// The kernel knows at least the first field. Without Landlock, or in a container that hides it, this fails.
	fd, _, errno := syscall.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&ruleset)), unsafe.Sizeof(rights), 0)
	if errno != 0 {
		return nil
	}
	defer unix.Close(int(fd))
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("give up the start of programs: landlock_restrict_self: %w", errno)
	}
	return nil
}
