package network

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// VM has the options of networks whose pods are virtual machines: one per pod, in QEMU, with KVM
// if it works. The machine's virtio network device is a TAP device of the host.
type VM struct {
	CPUs   int    `yaml:"cpus"`   // of each, 1 to 255
	Queues int    `yaml:"queues"` // of its network device, 1 to cpus
	VHost  string `yaml:"vhost"`  // on: a kernel thread moves the packets; off: QEMU does; auto: on if the host has KVM and vhost
	Memory int64  `yaml:"memory"` // of each, bytes, 256 MiB or more
}

const (
	maxVMCPUs   = 255
	minVMMemory = 256 << 20
	maxVMMemory = 1 << 44 // more than any machine has
)

func (v VM) check(name string) error {
	return cmp.Or(
		refuse(v.Memory < minVMMemory, fmt.Sprintf("%s: invalid memory %d: want %d bytes (256 MiB) or more, for the kernel and the programs", name, v.Memory, minVMMemory)),
		refuse(v.Memory > maxVMMemory, fmt.Sprintf("%s: invalid memory %d: want at most %d bytes", name, v.Memory, int64(maxVMMemory))),
		checkRange(name, "cpus", v.CPUs, 1, maxVMCPUs),
		checkRange(name, "queues", v.Queues, 1, v.CPUs),
		checkOneOf(name, "vhost", v.VHost, "auto", "on", "off"))
}

// tap makes the end of a machine's network device in the place in, as a port of master unless that is empty.
func (v VM) tap(in, name string, mtu int, master string) plan.Step {
	l := &plan.Link{Name: name, Kind: "tap", MTU: mtu, Master: master}
	if v.Queues > 1 {
		l.Queues = v.Queues
	}
	return plan.Step{In: in, Link: l}
}

// machines starts a virtual machine for every pod of t before it waits for any, so they boot
// concurrently, and sets up their devices. With checksums, the machines compute all checksums.
func (v VM) machines(t topo.Topology, mtu int, checksums bool) []plan.Step {
	var start, enter []plan.Step
	for i, h := range t.Hosts {
		for n, pod := range h.Pods {
			socket := guestSocket(pod.Name)
			start = append(start, v.start(h.Name, pod.Name, podPort(n), i, n))
			enter = append(enter,
				plan.Step{In: pod.Name, Forwards: forwards("QEMU", podDev, h.Name+"/"+h.Dev), Guest: &plan.Guest{Host: h.Name, Socket: socket, Makes: []string{podDev}}},
				// The guest's kernel made the device before any setting could prevent its address.
				sysctl(pod.Name, "net.ipv6.conf."+podDev+".addr_gen_mode", "1"),
				plan.Step{In: pod.Name, Set: &plan.Set{Dev: podDev, MTU: mtu, Up: true}})
			if checksums {
				enter = append(enter, complete(pod))
			}
			enter = append(enter, plan.Step{In: pod.Name, Addr: &plan.Addr{Dev: podDev, Prefix: pod.Addr}})
		}
	}
	return append(start, enter...)
}

func guestSocket(name string) string { return plan.Dir + "/" + name + ".sock" }

// start returns the step that runs the virtual machine called name in the place in. It has a TAP device
// there, and is number n of host i, both from 0.
func (v VM) start(in, name, tap string, i, n int) plan.Step {
	socket := guestSocket(name)
	return plan.Step{In: in, Service: &plan.Service{
		Name: "qemu-" + name,
		Argv: []string{"weir", "guest", "pod", name, socket, "--tap", tap, "--mac", fmt.Sprintf("52:54:00:%02x:%02x:%02x", (i+1)>>8, byte(i+1), n+1),
			"--vm-cpus", strconv.Itoa(v.CPUs), "--vm-memory", strconv.FormatInt(v.Memory, 10), "--queues", strconv.Itoa(v.Queues), "--vhost", v.VHost},
		Opens: []string{"/dev/net/tun"},
		Ready: plan.Ready{File: socket}}}
}

func (VM) expectTaps(t topo.Topology, mtu int) (all []plan.Expect) {
	for _, h := range t.Hosts {
		for n := range h.Pods {
			all = append(all, plan.Expect{State: plan.State{In: h.Name, Dev: podPort(n), MTU: mtu}})
		}
	}
	return all
}
