package network

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// DockerOverlay connects the containers of all hosts with Docker's overlay driver: one engine per
// host, with VXLAN between them. On each host the engine keeps a network namespace for the overlay,
// with a bridge that holds the containers' veths and a VXLAN device. The engines tell each other
// where every container is and configure that device. Containers are as in DockerBridge.
type DockerOverlay struct {
	Control   string `yaml:"control"`   // how engines learn of each other's containers: swarm, by gossip; etcd, from a store on the first host, as before Docker 1.12
	Encrypted bool   `yaml:"encrypted"` // ESP between the hosts, which the kernel must support
}

// Control planes of the overlay. With etcd, libnetwork keeps its state in an external store, as
// before Docker 1.12; Docker 23.0 removed this.
const (
	ControlSwarm = "swarm"
	ControlEtcd  = "etcd"
)

const swarmPort = 2377

func (n DockerOverlay) Plan(t topo.Topology) (plan.Plan, error) {
	const name = "docker-overlay"
	overhead := vxlanOverhead(t)
	if n.Encrypted {
		overhead = encryptedOverhead(t)
	}
	p, err := newPlan(name, t, 2, overhead, checkPods4(name, t), checkOneOf(name, "control", n.Control, ControlSwarm, ControlEtcd),
		refuse(any6(t), name+": Docker's overlay has no tunnels over IPv6; use an underlay with IPv4"))
	if err != nil {
		return plan.Plan{}, err
	}
	if t.NoOffload {
		return plan.Plan{}, fmt.Errorf("%s: cannot switch off segmentation: Docker's vxlan devices, which join segments, are in its own namespaces; use vxlan-overlay", name)
	}
	if t.BridgeNF == topo.BridgeNFOff {
		return plan.Plan{}, fmt.Errorf("%s: cannot keep packets from netfilter: Docker's bridges are in its own namespaces, which have the kernel's default, on; use vxlan-overlay, or bridge-nf on", name)
	}
	first := t.Hosts[0]
	for _, h := range t.Hosts {
		// The overlay's bridge is in a namespace of the engine, where the keys are the kernel's
		// default, 1, if they exist. The engine sets them in the host's namespace, too, for
		// docker_gwbridge, which has icc=false (libnetwork, setup_bridgenetfiltering.go). So the
		// host shows what holds for both.
		p.Steps = append(p.Steps, bridgeNF(t, h.Name, nfOn)...)
	}
	if n.Encrypted {
		for _, h := range t.Hosts {
			p.Steps = append(p.Steps, encrypts(h, "an encrypted overlay would pass nothing")...)
		}
	}
	if n.Control == ControlSwarm {
		p.Steps = append(p.Steps, swarm(t)...)
	} else {
		p.Steps = append(p.Steps, etcd(t, "--enable-v2")...) // Docker speaks version 2
		for _, h := range t.Hosts {
			p.Steps = append(p.Steps, startDocker(h, "--cluster-store", "etcd://"+etcdAddr(t), "--cluster-advertise", h.Addr.Addr().String()+":2376")...)
		}
	}
	create := []string{"network", "create", "--driver", "overlay",
		"--subnet", t.PodAll.Masked().String(), "--opt", "com.docker.network.driver.mtu=" + strconv.Itoa(t.MTU)}
	if n.Control == ControlSwarm {
		create = append(create, "--attachable")
	}
	if n.Encrypted {
		create = append(create, "--opt", "encrypted")
	}
	p.Steps = append(p.Steps, run(first, docker(append(create, dockerNet)...)...))
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, containers(h, dockerNet)...)
		p.Steps = append(p.Steps, dockerVersion(h))
	}
	return expect(t, p), nil
}

// encryptedOverhead returns the bytes by which VXLAN and ESP reduce the MTU. Docker counts 26 bytes
// for ESP and rounds the result down to a multiple of 4 (libnetwork, drivers/overlay/overlay.go and
// encryption.go, maxMTU and pktExpansion).
func encryptedOverhead(t topo.Topology) int {
	const esp = 26
	mtu := t.MTU - vxlanOverhead(t) - esp
	return t.MTU - (mtu - mtu%4)
}

func swarm(t topo.Topology) []plan.Step {
	var steps []plan.Step
	manager := fmt.Sprintf("%v:%d", t.Hosts[0].Addr.Addr(), swarmPort)
	for i, h := range t.Hosts {
		addr := h.Addr.Addr()
		at := []string{"--advertise-addr", addr.String(), "--listen-addr", fmt.Sprintf("%v:%d", addr, swarmPort)}
		steps = append(steps, startDocker(h)...)
		if i == 0 {
			steps = append(steps,
				run(h, docker(append([]string{"swarm", "init"}, at...)...)...),
				plan.Step{In: h.Name, Exec: &plan.Exec{Argv: docker("swarm", "join-token", "--quiet", "worker"), Keep: "token"}})
			continue
		}
		join := append([]string{"swarm", "join"}, at...)
		steps = append(steps, run(h, docker(append(join, "--token", "{token}", manager)...)...))
	}
	return steps
}

// encrypts checks that the kernel of h supports the ESP of Docker and Weave, which build their
// networks even without it; without describes the result.
func encrypts(h topo.Host, without string) []plan.Step {
	id := []string{"src", "127.0.0.1", "dst", "127.0.0.1", "proto", "esp", "spi", "1"}
	state := func(verb string, args ...string) *plan.Exec {
		return &plan.Exec{Argv: slices.Concat([]string{"ip", "xfrm", "state", verb}, id, args)}
	}
	add := state("add", "mode", "transport", "aead", "rfc4106(gcm(aes))", "0x0123456789abcdef0123456789abcdef01234567", "64")
	add.Remedy = without + " without ESP and its cipher: load the modules as root (modprobe -a esp4 gcm), or leave encrypted out"
	return []plan.Step{{In: h.Name, Exec: add}, {In: h.Name, Exec: state("delete")}}
}
