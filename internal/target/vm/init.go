package vm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/target/agent"
)

// Directories of the initramfs. merged is the root of programs: the host's files in lower, below an
// in-memory layer that takes all changes.
const (
	lower  = "lower"
	layer  = "layer"
	merged = "root"
)

// Init is process 1 of a guest. It enters its root, reports to the host that it is ready, serves as
// the host's agent with actor, and stops the machine when the host is gone. It does not return.
func Init(actor func(node string) (agent.Actor, error)) {
	if _, err := os.Stat("/proc/self"); os.Getpid() != 1 || err == nil { // nothing is mounted yet; containers have a process 1, too
		fmt.Fprintln(os.Stderr, "weir: guest is process 1 of a virtual machine; weir starts it itself, see weir run --in-vm")
		os.Exit(2)
	}
	if err := serve(actor); err != nil {
		fmt.Fprintln(os.Stderr, "weir:", err)
	}
	unix.Sync()
	// -no-reboot makes it end QEMU.
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
	select {}
}

func serve(actor func(node string) (agent.Actor, error)) error {
	for _, m := range []mount{{"proc", "/proc", "proc", ""}, {"sysfs", "/sys", "sysfs", ""}, {"devtmpfs", "/dev", "devtmpfs", ""}} {
		if err := m.mount(); err != nil && !errors.Is(err, unix.EBUSY) { // the kernel can have mounted /dev already
			return err
		}
	}
	if err := loadModules("/" + moduleDir); err != nil {
		return err
	}
	port, err := openPort()
	if err != nil {
		return err
	}
	out := json.NewEncoder(port)
	first, err := next(port)
	switch {
	case err != nil:
		return err
	case first.Root == nil:
		err = errors.New("the first message names no root")
	default:
		err = first.Root.enter()
	}
	if err != nil {
		_ = out.Encode(message{Failed: err.Error()}) // the console has it, too
		_, _ = io.Copy(io.Discard, port)             // the host ends the machine
		return err
	}
	if err := out.Encode(message{Ready: true}); err != nil {
		return err
	}
	return agent.Serve(port, actor)
}

// loadModules loads every file of dir in name order.
func loadModules(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range files {
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		flags := 0
		if !strings.HasSuffix(e.Name(), ".ko") {
			flags = unix.MODULE_INIT_COMPRESSED_FILE // .xz, .zst: Linux 5.17 and later unpack it
		}
		err = unix.FinitModule(int(f.Fd()), "", flags)
		f.Close()
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("load module %s: %w", e.Name(), err)
		}
	}
	return nil
}

func openPort() (*os.File, error) {
	ports, _ := filepath.Glob("/dev/vport*") // the pattern is a constant
	if len(ports) != 1 {
		return nil, fmt.Errorf("the guest has %d virtio ports and needs one", len(ports))
	}
	return os.OpenFile(ports[0], os.O_RDWR, 0)
}
