package relay

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A tap is the program's end of a TAP device.
type tap struct {
	f   *os.File
	raw syscall.RawConn
}

const tunFile = "/dev/net/tun"

// openTAP attaches to a TAP device of this thread's network namespace.
func openTAP(name string) (*tap, error) {
	fd, err := unix.Open(tunFile, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w; this needs a kernel with CONFIG_TUN, and permission to use the file", tunFile, err)
	}
	req, err := unix.NewIfreq(name)
	if err == nil {
		req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("TAP device %s: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), tunFile)
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &tap{f, raw}, nil
}

func (t *tap) close() error { return ignoreClosed(t.f.Close()) }

// read calls each with every frame from the kernel, and idle when none is left, until closed.
func (t *tap) read(each func(frame []byte), idle func()) error {
	return readAll(t.raw, func(b []byte) {
		if len(b) >= minFrame {
			each(b)
		}
	}, idle)
}

func (t *tap) write(frame []byte, c *Counters) {
	if _, err := t.f.Write(frame); err != nil {
		c.tapFailed.Add(1) // the device is down, or the kernel rejects the frame
		return
	}
	c.framesOut.Add(1)
}

// readsAtOnce bounds the reads before a reader notices that it was closed.
const readsAtOnce = 256

// readAll calls each with the result of every read(2), and idle before it waits.
func readAll(raw syscall.RawConn, each func([]byte), idle func()) error {
	buf := make([]byte, 1<<16)
	var failed error
	for failed == nil {
		err := raw.Read(func(fd uintptr) bool {
			for range readsAtOnce {
				n, err := unix.Read(int(fd), buf)
				switch {
				case err == nil:
					each(buf[:n])
				case errors.Is(err, unix.EAGAIN):
					idle()
					return false
				case !transient(err):
					failed = err
					return true
				}
			}
			return true
		})
		if err != nil {
			return ignoreClosed(err)
		}
	}
	return failed
}

// transient reports whether err is the network's answer to an earlier datagram: the neighbor does
// not listen yet, or the path's MTU shrank.
func transient(err error) bool {
	for _, e := range []error{unix.EINTR, unix.ECONNREFUSED, unix.EHOSTUNREACH, unix.ENETUNREACH, unix.EMSGSIZE} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// ignoreClosed returns err, unless err only says that the file was closed.
func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
