package vm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// Packets of a guest's network device reach the host through a host kernel thread (vhost) or
// through QEMU. VHostAuto selects vhost where the host has it and the guest is not emulated.
const (
	VHostAuto = "auto"
	VHostOn   = "on"
	VHostOff  = "off"
)

// vhostFile exists where the kernel has vhost for network devices.
const vhostFile = "/dev/vhost-net"

// A NIC is the network device of a pod guest, called eth0 there.
type NIC struct {
	Tap    string // device in QEMU's namespace; multi-queue if Queues > 1
	MAC    string
	Queues int    // queue pairs: 1 to the guest's number of CPUs
	VHost  string // VHostOn, VHostOff or VHostAuto
}

func (n NIC) vhost(accel string) string {
	if n.VHost != VHostAuto {
		return n.VHost
	}
	if accel != "kvm" || openErr(vhostFile) != nil {
		return VHostOff
	}
	return VHostOn
}

// args returns QEMU's arguments. Each queue, the control queue and reconfiguration need interrupts.
func (n NIC) args(accel string) []string {
	netdev := fmt.Sprintf("tap,id=net,ifname=%s,script=no,downscript=no,vhost=%s", n.Tap, n.vhost(accel))
	device := "virtio-net-pci,netdev=net,romfile=,mac=" + n.MAC
	if n.Queues > 1 {
		netdev += ",queues=" + strconv.Itoa(n.Queues)
		device += ",mq=on,vectors=" + strconv.Itoa(2*n.Queues+2)
	}
	return []string{"-netdev", netdev, "-device", device}
}

// ServePod starts m, the guest of a pod, and connects the one client of the socket to its agent
// until the client disconnects or ctx ends. The socket exists before the guest is ready, so that
// several guests can start concurrently. Call ServePod on the main thread, see Boot.
func ServePod(ctx context.Context, m Machine, socket string) error {
	if err := m.NIC.check(m.CPUs); err != nil {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return err
	}
	return servePod(ctx, m, l)
}

func servePod(ctx context.Context, m Machine, l *net.UnixListener) error {
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	if m.NIC.VHost == VHostOn {
		if err := openErr(vhostFile); err != nil {
			return hear(l, fmt.Errorf("vhost: %w: load the module vhost_net, or use vhost %s", err, VHostOff))
		}
	}
	g, err := Boot(ctx, m)
	if ctx.Err() != nil {
		if err == nil {
			g.Close()
		}
		return nil
	}
	if err != nil {
		return hear(l, err)
	}
	defer g.Close()
	conn, err := l.Accept()
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	about := map[string]string{"vm.accelerator": g.Accel, "vm.kernel": m.Kernel.Version, "vm.vhost": m.NIC.vhost(g.Accel)}
	fmt.Fprintf(m.Console, "weir: the guest is up: %s, vhost %s\n", g.Accel, about["vm.vhost"])
	if g.Declined != nil {
		fmt.Fprintf(m.Console, "weir: KVM: %v\n", g.Declined)
	}
	if err := json.NewEncoder(conn).Encode(message{Ready: true, About: about}); err != nil {
		return err
	}
	return g.relay(ctx, conn)
}

// hear sends the next client the reason why the guest is missing.
func hear(l *net.UnixListener, why error) error {
	if conn, err := l.Accept(); err == nil {
		_ = json.NewEncoder(conn).Encode(message{Failed: why.Error()}) // the log has it, too
		conn.Close()
	}
	return why
}

// relay copies bytes between conn and the guest until either ends.
func (g *Guest) relay(ctx context.Context, conn net.Conn) error {
	ended := make(chan error, 2)
	go func() {
		_, _ = io.Copy(g.conn, conn)
		ended <- nil // the client is done
	}()
	go func() {
		_, _ = io.Copy(conn, g.conn)
		ended <- errGone
	}()
	select {
	case err := <-ended:
		if err != nil {
			return g.explain("the guest was lost", err)
		}
	case <-ctx.Done():
	}
	return nil
}

// check explains errors that QEMU only rejects.
func (n NIC) check(cpus int) error {
	switch {
	case n.Tap == "" || strings.ContainsAny(n.Tap, ",="):
		return fmt.Errorf("invalid TAP device %q: want a name without , and =", n.Tap)
	case n.Queues < 1 || n.Queues > cpus:
		return fmt.Errorf("%d queues is outside 1..%d, the number of CPUs", n.Queues, cpus)
	case n.VHost != VHostAuto && n.VHost != VHostOn && n.VHost != VHostOff:
		return fmt.Errorf("invalid vhost %q: want %s, %s or %s", n.VHost, VHostAuto, VHostOn, VHostOff)
	}
	_, err := net.ParseMAC(n.MAC)
	return err
}
