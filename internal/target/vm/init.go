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
)

// Directories of the initramfs. The root that programs see is merged: the host's
// files in lower, and above them a layer in memory that takes all changes.
const (
	lower  = "lower"
	layer  = "layer"
	merged = "root"
)

// Init is process 1 of a guest. It enters its root, tells the host that it is
// ready, does what it is told (see agent), and stops the machine when the host is
// gone. It does not return.
func Init() {
	if _, err := os.Stat("/proc/self"); os.Getpid() != 1 || err == nil { // nothing is mounted yet; also containers have a process 1
		fmt.Fprintln(os.Stderr, "weir: guest is for process 1 of a virtual machine; see weir run --in-vm")
		os.Exit(2)
	}
	err := serve()
	fmt.Fprintln(os.Stderr, "weir:", err)
	unix.Sync()
	// With -no-reboot it ends QEMU, which ends without it when all went well.
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
	select {}
}

func serve() error {
	for _, m := range []mount{{"proc", "/proc", "proc", ""}, {"sysfs", "/sys", "sysfs", ""}, {"devtmpfs", "/dev", "devtmpfs", ""}} {
		if err := m.mount(); err != nil && !errors.Is(err, unix.EBUSY) { // the kernel may have mounted /dev
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
	out, in := &sender{enc: json.NewEncoder(port)}, json.NewDecoder(port)
	var first message
	if err := in.Decode(&first); err != nil {
		return fmt.Errorf("orders: %w", err)
	}
	if first.Root == nil {
		err = errors.New("the first order names no root")
	} else {
		err = first.Root.enter()
	}
	if err != nil {
		out.send(message{Failed: err.Error()})
		_, _ = io.Copy(io.Discard, port) // the host ends the machine
		return err
	}
	out.send(message{Ready: true})
	return newAgent(out).serve(in)
}

// loadModules loads every file of dir in the order of the names.
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

// openPort opens the one virtio port.
func openPort() (*os.File, error) {
	ports, _ := filepath.Glob("/dev/vport*") // the pattern is right
	if len(ports) != 1 {
		return nil, fmt.Errorf("the guest has %d virtio ports and needs one", len(ports))
	}
	return os.OpenFile(ports[0], os.O_RDWR, 0)
}
