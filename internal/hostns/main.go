package hostns

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

const ready = "ready\n"

const firstFD = 3

// Main runs in the process that Start starts, until EOF. args are the host's name and its peers'.
func Main(args []string) error {
	if len(args) == 0 || os.Getpid() != 1 {
		return errors.New("weir host init is an internal command; weir starts it itself, as process 1 of a host")
	}
	// Orphans of the host become children of this process.
	child := make(chan os.Signal, 1)
	signal.Notify(child, syscall.SIGCHLD)
	go func() {
		for range child {
			for {
				if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 && !errors.Is(err, syscall.EINTR) {
					break
				}
			}
		}
	}()
	if err := setup(args[0], args[1:]); err != nil {
		return err
	}
	if _, err := os.Stdout.WriteString(ready); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

func setup(name string, peers []string) error {
	if err := unix.Sethostname([]byte(name)); err != nil {
		return fmt.Errorf("host name %s: %w", name, err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount the host's own /proc: %w", err)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("mount the host's own /run: %w", err)
	}
	if err := mountSys(); err != nil {
		return fmt.Errorf("mount the host's own /sys: %w", err)
	}
	for _, dir := range []string{Dir, "/run/lock", namesDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for i, peer := range peers {
		at := Peer(peer)
		if err := bindFile(fmt.Sprintf("/proc/self/fd/%d", firstFD+i), at); err != nil {
			return err
		}
		unix.Close(firstFD + i)
	}
	// A lookup would wait in vain for the machine's resolver.
	if _, err := os.Stat("/etc/resolv.conf"); err != nil {
		return nil
	}
	const none = "/run/resolv.conf"
	if err := os.WriteFile(none, nil, 0o444); err != nil {
		return err
	}
	return bindFile(none, "/etc/resolv.conf")
}

// namesDir is where ip-netns(8) looks for network namespaces.
const namesDir = "/run/netns"

// Name makes the calling thread's network namespace known as name.
func Name(name string) error {
	if err := os.MkdirAll(namesDir, 0o755); err != nil {
		return err
	}
	return bindFile("/proc/thread-self/ns/net", Peer(name))
}

// OwnSys gives the calling thread and its children a mount namespace whose /sys shows the devices
// of their network namespace. The caller must throw the thread away.
func OwnSys() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare mount namespace: %w", err)
	}
	// A container that hides parts of /sys cannot mount another; programs see the machine's
	// devices.
	if err := mountSys(); err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("mount /sys: %w", err)
	}
	return nil
}

// mountSys mounts this network namespace's /sys with the control groups, which dockerd needs.
func mountSys() error {
	const cgroups = "/sys/fs/cgroup"
	fd, treeErr := unix.OpenTree(unix.AT_FDCWD, cgroups, unix.OPEN_TREE_CLONE|unix.AT_RECURSIVE|unix.OPEN_TREE_CLOEXEC)
	if err := unix.Mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	if errors.Is(treeErr, unix.ENOENT) || errors.Is(treeErr, unix.ENOSYS) {
		return nil // no control groups, or Linux before 5.2, which cannot keep them
	}
	if treeErr != nil {
		return fmt.Errorf("keep %s: %w", cgroups, treeErr)
	}
	defer unix.Close(fd)
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, cgroups, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("keep %s: %w", cgroups, err)
	}
	return nil
}

// bindFile binds file at the path at, which it creates if necessary.
func bindFile(file, at string) error {
	f, err := os.OpenFile(at, os.O_RDONLY|os.O_CREATE, 0o444)
	if err != nil {
		return err
	}
	f.Close()
	if err := unix.Mount(file, at, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s at %s: %w", file, at, err)
	}
	return nil
}
