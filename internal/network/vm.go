package network

import (
	"fmt"
	"strconv"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// VM is what the networks have in common whose pods are virtual machines: one
// per pod, in QEMU, with KVM where that works. Its virtio network device is a TAP
// device of the host.
type VM struct {
	CPUs   int    `yaml:"cpus"`   // of each, 1 to 255
	Queues int    `yaml:"queues"` // of its network device, 1 to CPUs
	VHost  string `yaml:"vhost"`  // on: a thread of the kernel moves the packets; off: QEMU does; auto
	Memory int64  `yaml:"memory"` // of each, bytes, 256 MiB or more
}

const (
	maxVMCPUs   = 255
	minVMMemory = 256 << 20
)

func (v VM) check(name string) error {
	switch {
	case v.CPUs < 1 || v.CPUs > maxVMCPUs:
		return fmt.Errorf("%s: cpus %d is outside 1..%d", name, v.CPUs, maxVMCPUs)
	case v.Queues < 1 || v.Queues > v.CPUs:
		return fmt.Errorf("%s: queues %d is outside 1..%d, the number of cpus", name, v.Queues, v.CPUs)
	case v.VHost != "auto" && v.VHost != "on" && v.VHost != "off":
		return fmt.Errorf("%s: vhost %q is none of auto, on and off", name, v.VHost)
	case v.Memory < minVMMemory:
		return fmt.Errorf("%s: memory %d is below %d bytes (256 MiB), which kernel and programs need", name, v.Memory, minVMMemory)
	}
	return nil
}

// tap is the host's end of pod n's network device, a port of master if that is
// not empty.
func (v VM) tap(h topo.Host, n, mtu int, master string) plan.Step {
	l := &plan.Link{Name: podPort(n), Kind: "tap", MTU: mtu, Master: master}
	if v.Queues > 1 {
		l.Queues = v.Queues
	}
	return plan.Step{In: h.Name, Link: l}
}

// machines starts a virtual machine for every pod of t, all before the first is
// waited for, and sets up their network devices. The devices leave no checksum to
// the host when complete.
func (v VM) machines(t topo.Topology, mtu int, complete bool) []plan.Step {
	var start, enter []plan.Step
	for i, h := range t.Hosts {
		for n, pod := range h.Pods {
			socket := plan.Dir + "/" + pod.Name + ".sock"
			start = append(start, plan.Step{In: h.Name, Service: &plan.Service{
				Name: "qemu-" + pod.Name,
				Argv: []string{"weir", "guest", "pod", pod.Name, socket, "--tap", podPort(n), "--mac", fmt.Sprintf("52:54:00:%02x:%02x:%02x", (i+1)>>8, byte(i+1), n+1),
					"--vm-cpus", strconv.Itoa(v.CPUs), "--vm-memory", strconv.FormatInt(v.Memory, 10), "--queues", strconv.Itoa(v.Queues), "--vhost", v.VHost},
				Opens: []string{"/dev/net/tun"},
				Ready: plan.Ready{File: socket}}})
			enter = append(enter,
				plan.Step{In: pod.Name, Guest: &plan.Guest{Host: h.Name, Socket: socket, Makes: []string{podDev}}},
				// Its kernel made the device before anybody could be quiet.
				plan.Step{In: pod.Name, Sysctl: &plan.Sysctl{Key: "net.ipv6.conf." + podDev + ".addr_gen_mode", Value: "1"}},
				plan.Step{In: pod.Name, Set: &plan.Set{Dev: podDev, MTU: mtu, Up: true}})
			if complete {
				enter = append(enter, plan.Step{In: pod.Name, Offload: &plan.Offload{Dev: podDev, Features: off(checksum, segmentTCP, segmentOther)}})
			}
			enter = append(enter, plan.Step{In: pod.Name, Addr: &plan.Addr{Dev: podDev, Prefix: pod.Addr}})
		}
	}
	return append(start, enter...)
}

// expectTaps is what holds of the hosts' ends.
func (VM) expectTaps(t topo.Topology, mtu int) []plan.Expect {
	var all []plan.Expect
	for _, h := range t.Hosts {
		for n := range h.Pods {
			all = append(all, plan.Expect{State: plan.State{In: h.Name, Dev: podPort(n), MTU: mtu}})
		}
	}
	return all
}
