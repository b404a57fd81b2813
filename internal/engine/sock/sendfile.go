package sock

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A File is memory whose pages a connection sends with sendfile(2): the sender copies nothing, not even on one machine,
// and its kernel allocates no pages. The receiver reads the same pages again and again, so they stay in a cache.
type File struct {
	fd     int
	size   int
	offset int64 // of the next byte to send
}

func NewFile(size int) (*File, error) {
	fd, err := unix.MemfdCreate("weir", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memory to send: %w", os.NewSyscallError("memfd_create", err))
	}
	// Written pages: those of a hole would all be the kernel's one page of zeros.
	if n, err := unix.Write(fd, make([]byte, size)); err != nil || n < size {
		unix.Close(fd)
		return nil, fmt.Errorf("memory to send: wrote %d of %d bytes: %w", n, size, cmp.Or(err, io.ErrShortWrite))
	}
	return &File{fd: fd, size: size}, nil
}

// Send sends the rest of the file, or all of it again. Like HotSend it can send less, and returns EAGAIN if the
// kernel took nothing within a Tick.
func (f *File) Send(fd int) (int, unix.Errno) {
	n, errno := hotSendFile(fd, f.fd, &f.offset, f.size-int(f.offset))
	if f.offset == int64(f.size) {
		f.offset = 0
	}
	return n, errno
}

func (f *File) Close() { unix.Close(f.fd) }

//go:noinline
func hotSendFile(to, from int, offset *int64, n int) (int, unix.Errno) {
	sent, _, errno := syscall.RawSyscall6(unix.SYS_SENDFILE, uintptr(to), uintptr(from), uintptr(unsafe.Pointer(offset)), uintptr(n), 0, 0)
	return int(sent), errno
}
