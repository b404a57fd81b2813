package lab

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/rootless"
)

// needs returns an error when s cannot run on this machine. It mounts the private directories of s.
func (p *place) needs(s *plan.Service) error {
	if err := permits(s); err != nil {
		return err
	}
	for _, feature := range s.Kernel {
		if err := p.has(feature); err != nil {
			return fmt.Errorf("needs %s: %w", feature, err)
		}
	}
	return p.private(s.Private)
}

// permits returns an error when this process may not do what s does.
func permits(s *plan.Service) error {
	if s.Root && rootless.Unprivileged() {
		return errors.New("needs root, not root of a user namespace: run weir as root")
	}
	for _, dev := range s.Opens {
		if err := opens(dev); err != nil {
			return err
		}
	}
	return nil
}

// has returns an error when the kernel lacks a feature. It loads the module where possible.
func (p *place) has(feature string) error {
	switch feature {
	case "dummy", "ipip", "vxlan":
		name := "weir-" + feature
		add := p.request(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, unix.IfInfomsg{})
		add.str(unix.IFLA_IFNAME, name)
		if err := add.kind(&plan.Link{Kind: feature, Local: netip.IPv4Unspecified(), VNI: 1, Port: 8472}); err != nil {
			return err
		}
		if _, _, err := p.nl.do(add); errors.Is(err, unix.EEXIST) {
			return nil // tunl0, which comes with ipip, has these addresses
		} else if err != nil {
			return unsupported(err, feature)
		}
		del := p.request(unix.RTM_DELLINK, 0, unix.IfInfomsg{})
		del.str(unix.IFLA_IFNAME, name)
		_, _, err := p.nl.do(del)
		return err
	case "openvswitch":
		if ovsKernel() != nil { // with ENOENT
			return unsupported(unix.EOPNOTSUPP, feature)
		}
		return nil
	}
	return fmt.Errorf("unknown feature %q: want dummy, ipip, openvswitch or vxlan", feature)
}

// private mounts an in-memory overlay on each of dirs for what programs of p write there.
func (p *place) private(dirs []string) error {
	for _, dir := range dirs {
		layer := filepath.Join(hostns.Layers, dir)
		err := p.host.Do(func() error {
			if _, err := os.Stat(layer); err == nil {
				return nil // mounted by another service
			}
			upper, work := layer+"/upper", layer+"/work"
			if err := errors.Join(os.MkdirAll(upper, 0o755), os.MkdirAll(work, 0o755)); err != nil {
				return err
			}
			return unix.Mount("overlay", dir, "overlay", 0, "lowerdir="+dir+",upperdir="+upper+",workdir="+work)
		})
		if err != nil {
			return fmt.Errorf("mount overlay on %s: %w", dir, err)
		}
	}
	return nil
}

// opens returns an error when a device file cannot be opened.
func opens(dev string) error {
	f, err := os.OpenFile(dev, os.O_RDWR, 0)
	switch {
	case err == nil:
		return f.Close()
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: run as root, or as root once: chmod 666 %s", err, dev)
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV):
		return fmt.Errorf("%w: load its module as root (modprobe %s), or give the container this device", err, filepath.Base(dev))
	}
	return err
}
