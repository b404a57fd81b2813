package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Directories of the initramfs. The root that programs see is merged: the host's
// files in lower, and above them a layer in memory that takes all changes.
const (
	lower  = "lower"
	layer  = "layer"
	merged = "root"
)

// Init is process 1 of a guest. It tells the host that it is ready, runs the
// command that it gets, and stops the machine. It does not return.
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
	out := &sender{enc: json.NewEncoder(port)}
	out.send(message{Ready: true})
	in := json.NewDecoder(port)
	var order message
	if err := in.Decode(&order); err != nil {
		return fmt.Errorf("orders: %w", err)
	}
	status, err := perform(order, in, out)
	unix.Sync()
	if err != nil {
		out.send(message{Failed: err.Error()})
	} else {
		out.send(message{Exit: &status})
	}
	_, _ = io.Copy(io.Discard, port) // the host ends the machine
	return errors.New("the host is gone")
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

// A sender sends messages from several goroutines.
type sender struct {
	mu  sync.Mutex
	enc *json.Encoder
}

func (s *sender) send(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enc.Encode(m); err != nil {
		fmt.Fprintln(os.Stderr, "weir: tell the host:", err) // on the console
	}
}

// perform runs the command of an order and passes signals on to it.
func perform(order message, in *json.Decoder, out *sender) (int, error) {
	if order.Command == nil || order.Root == nil {
		return 0, errors.New("the first order is no command")
	}
	if err := order.Root.enter(); err != nil {
		return 0, err
	}
	c := order.Command
	cmd := exec.Command("/proc/self/exe", c.Args...)
	cmd.Args[0] = selfFile
	cmd.Env, cmd.Dir = c.Env, c.Dir
	cmd.Stdout = writer(func(b []byte) { out.send(message{Out: b}) })
	cmd.Stderr = writer(func(b []byte) { out.send(message{Err: b}) })
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() {
		for {
			var m message
			if in.Decode(&m) != nil {
				return // the host is gone, and so is this machine soon
			}
			_ = cmd.Process.Signal(m.Signal) // it may have ended
		}
	}()
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return 0, fmt.Errorf("the command was ended by signal %d (%v)", ws.Signal(), ws.Signal())
		}
		return exit.ExitCode(), nil
	}
	return 0, err
}

// A writer is a function that gets what is written.
type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }
