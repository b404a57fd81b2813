// Package redirect forwards packets between network devices by BPF programs, run as `weir redirect`.
// The kernel's routes and neighbors decide; its IP stack gets only what the programs cannot
// forward. At AFXDP the programs give whole frames to a switch in this process instead.
//
// It must not know networks, plans or probes, and it acts only in its own network namespace. Nothing is
// pinned: the programs leave the devices when the process ends.
package redirect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// Hooks are where the programs run.
const (
	XDP    = "xdp"    // in the devices' drivers
	TCX    = "tcx"    // where the devices hand packets to the stack (Linux 6.6)
	AFXDP  = "af-xdp" // in the devices' drivers, for a switch in user space
	Netkit = "netkit" // for pods' packets in their netkit device, otherwise as TCX (Linux 6.7)
)

// Ready is the line that Run prints once it forwards.
const Ready = "redirect: ready"

// Run attaches programs at the hook to devs, the first of which leads to other hosts and the others to
// pods, and forwards until ctx ends. It needs CAP_BPF and CAP_NET_ADMIN in the machine's own user
// namespace.
func Run(ctx context.Context, hook string, devs []string, ready io.Writer) (err error) {
	if hook == AFXDP {
		return runSwitch(ctx, devs, ready)
	}
	var closers []io.Closer
	defer func() {
		for _, c := range closers {
			err = errors.Join(err, c.Close())
		}
	}()
	for i, name := range devs {
		dev, err := net.InterfaceByName(name)
		if err != nil {
			return fmt.Errorf("device %s: %w", name, err)
		}
		prog, at, err := attach(hook, dev.Index, i == 0)
		if prog != nil {
			closers = append(closers, prog)
		}
		if err != nil {
			return fmt.Errorf("%s at %s: %w", hook, name, explain(err))
		}
		closers = append(closers, at)
	}
	if _, err := fmt.Fprintln(ready, Ready); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// attach loads the program for a device, the underlay's or a pod's, and attaches it. prog can be
// loaded although it is not attached.
func attach(hook string, dev int, underlay bool) (prog *ebpf.Program, at link.Link, err error) {
	spec := &ebpf.ProgramSpec{Name: "weir_redirect", Type: ebpf.SchedCLS, License: "Dual MIT/GPL"}
	switch {
	case hook == XDP:
		spec.Type, spec.Flags, spec.Instructions = ebpf.XDP, hasFrags, program(atXDP)
	case underlay:
		spec.Instructions = program(toPod)
	default:
		spec.Instructions = program(fromPod)
	}
	if prog, err = ebpf.NewProgram(spec); err != nil {
		return nil, nil, err
	}
	switch {
	case hook == XDP:
		at, err = link.AttachXDP(link.XDPOptions{Program: prog, Interface: dev, Flags: link.XDPDriverMode})
	case hook == Netkit && !underlay:
		at, err = link.AttachNetkit(link.NetkitOptions{Program: prog, Interface: dev, Attach: ebpf.AttachNetkitPeer})
	case hook == TCX || hook == Netkit:
		at, err = link.AttachTCX(link.TCXOptions{Program: prog, Interface: dev, Attach: ebpf.AttachTCXIngress})
	default:
		err = fmt.Errorf("unknown hook %q: want %s, %s, %s or %s", hook, AFXDP, XDP, TCX, Netkit)
	}
	return prog, at, err
}

// hasFrags lets a packet at XDP have several buffers, which MTUs above some 3500 bytes need (Linux 5.18;
// BPF_F_XDP_HAS_FRAGS, include/uapi/linux/bpf.h).
const hasFrags = 1 << 5

// explain adds the remedy to the kernel's refusal. The verifier's has the same number, and none.
func explain(err error) error {
	verifier := (*ebpf.VerifierError)(nil)
	switch {
	case errors.Is(err, os.ErrPermission) && !errors.As(err, &verifier):
		return fmt.Errorf("%w; run weir as root of the machine (CAP_BPF and CAP_NET_ADMIN), outside of any container", err)
	case errors.Is(err, ebpf.ErrNotSupported):
		return fmt.Errorf("%w: not supported by this kernel; boot a newer one, as weir run --in-vm --kernel DIR does", err)
	}
	return err
}
