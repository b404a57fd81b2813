package local

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An Ethtool reads and changes features of devices (include/uapi/linux/ethtool.h) in the namespace
// that it was opened in.
type Ethtool struct {
	fd    int
	known []string // the features of this kernel; nil before the first question
}

// OpenEthtool opens a socket in the calling thread's network namespace.
func OpenEthtool() (*Ethtool, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open socket: %w", err)
	}
	return &Ethtool{fd: fd}, nil
}

// Close closes the socket.
func (e *Ethtool) Close() error { return unix.Close(e.fd) }

// Commands, and the set of strings that holds the features' names.
const (
	getStrings     = 0x1b // ETHTOOL_GSTRINGS
	getStringsInfo = 0x37 // ETHTOOL_GSSET_INFO
	getFeatures    = 0x3a // ETHTOOL_GFEATURES
	setFeatures    = 0x3b // ETHTOOL_SFEATURES

	featureNames = 4  // ETH_SS_FEATURES
	nameSize     = 32 // ETH_GSTRING_LEN
)

// call executes the command at data, which also receives the answer. The request holds the address
// as a pointer: as a number, it would go stale when the runtime moves the stack that data is on.
func (e *Ethtool) call(dev string, data unsafe.Pointer) error {
	req := struct { // struct ifreq, include/uapi/linux/if.h
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: data}
	if len(dev) >= len(req.name) {
		return unix.ENODEV
	}
	copy(req.name[:], dev)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(e.fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req))); errno != 0 {
		return errno
	}
	return nil
}

// names returns the features that this kernel knows, in the order of their bits: those of all devices.
func (e *Ethtool) names(dev string) ([]string, error) {
	if e.known != nil {
		return e.known, nil
	}
	info := struct { // struct ethtool_sset_info
		command, _ uint32
		sets       uint64
		length     uint32
	}{command: getStringsInfo, sets: 1 << featureNames}
	if err := e.call(dev, unsafe.Pointer(&info)); err != nil {
		return nil, err
	}
	n := int(info.length)
	b := make([]uint32, 3+n*nameSize/4) // struct ethtool_gstrings
	b[0], b[1], b[2] = getStrings, featureNames, uint32(n)
	if err := e.call(dev, unsafe.Pointer(&b[0])); err != nil {
		return nil, err
	}
	names := make([]string, min(n, int(b[2])))
	for i := range names {
		var name []byte
		for _, word := range b[3+i*nameSize/4:][:nameSize/4] {
			name = binary.NativeEndian.AppendUint32(name, word)
		}
		name, _, _ = bytes.Cut(name, []byte{0})
		names[i] = string(name)
	}
	e.known = names
	return names, nil
}

// Features returns the active features of dev by name.
func (e *Ethtool) Features(dev string) (map[string]bool, error) {
	names, err := e.names(dev)
	if err != nil {
		return nil, err
	}
	words := (len(names) + 31) / 32
	b := make([]uint32, 2+4*words) // struct ethtool_gfeatures: available, requested, active, never changed
	b[0], b[1] = getFeatures, uint32(words)
	if err := e.call(dev, unsafe.Pointer(&b[0])); err != nil {
		return nil, err
	}
	is := map[string]bool{}
	for i, name := range names {
		if name == "" {
			continue // a bit without a feature
		}
		is[name] = b[2+4*(i/32)+2]>>(i%32)&1 == 1
	}
	return is, nil
}

// Change switches features of dev. The kernel ignores those that the device cannot change.
func (e *Ethtool) Change(dev string, features map[string]bool) error {
	names, err := e.names(dev)
	if err != nil {
		return err
	}
	words := (len(names) + 31) / 32
	b := make([]uint32, 2+2*words) // struct ethtool_sfeatures: valid, requested
	b[0], b[1] = setFeatures, uint32(words)
	known := 0
	for i, name := range names {
		on, asked := features[name]
		if !asked {
			continue
		}
		known++
		b[2+2*(i/32)] |= 1 << (i % 32)
		if on {
			b[2+2*(i/32)+1] |= 1 << (i % 32)
		}
	}
	if known < len(features) {
		return fmt.Errorf("this kernel knows %d of the %d features", known, len(features))
	}
	return e.call(dev, unsafe.Pointer(&b[0]))
}
