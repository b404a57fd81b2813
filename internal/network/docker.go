package network

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// DockerBridge connects the containers of one host with Docker's bridge driver: a veth each, on a
// Linux bridge that the engine makes, with the engine's iptables rules. The engine is private to
// the host: it has separate state and ends with the network. Its containers are the pods; they hold
// only weir, which waits, so no image has to be downloaded.
type DockerBridge struct {
	Bridge string `yaml:"bridge"` // user: a bridge made for this network; docker0: the default bridge
}

// A user-defined bridge has any subnet and name; docker0 always exists and assigns addresses in
// order.
const (
	BridgeUser    = "user"
	BridgeDocker0 = "docker0"
)

func (n DockerBridge) Plan(t topo.Topology) (plan.Plan, error) {
	const name = "docker-bridge"
	p, err := newPlan(name, t, 1, 0, checkExactly(name, t, 1), checkPods4(name, t),
		checkOneOf(name, "bridge", n.Bridge, BridgeUser, BridgeDocker0))
	if err != nil {
		return plan.Plan{}, err
	}
	h, mtu, bridge := t.Hosts[0], strconv.Itoa(p.Path.MTU), dockerNet
	// Up to 27.2, and so in Debian 12 and 13, dockerd with iptables loads br_netfilter (moby#48492),
	// which sets the keys. Later versions do so only for a network with icc=false, and otherwise leave
	// a machine's bridges as they are.
	p.Steps = bridgeNF(t, h.Name, nfOn)
	if n.Bridge == BridgeDocker0 {
		bridge = "bridge"
		// It assigns the first free addresses of the range. The bridge gets the one that no pod
		// has: it ends in 0, an ordinary address in a network this large.
		bip := netip.PrefixFrom(h.PodNet.Addr(), t.PodAll.Bits())
		p.Steps = append(p.Steps, startDocker(h, "--bip", bip.String(), "--fixed-cidr", h.PodNet.String(), "--mtu", mtu)...)
	} else {
		p.Steps = append(append(p.Steps, startDocker(h)...), run(h, docker("network", "create", "--driver", "bridge",
			"--subnet", t.PodAll.Masked().String(), "--gateway", h.Gateway().String(),
			"--opt", "com.docker.network.bridge.name="+bridgeDev, "--opt", "com.docker.network.driver.mtu="+mtu, bridge)...))
	}
	p.Steps = append(p.Steps, containers(h, bridge)...)
	if t.NoOffload {
		// Not on the bridge: packets are segmented when they leave a pod, and neither a veth nor a
		// bridge rejoins them; see noOffload.
		p.Steps = append(p.Steps, pluggedNoOffload(h, "")...)
	}
	p.Steps = append(p.Steps, dockerVersion(h))
	return expect(t, p), nil
}

// Names in every Docker engine.
const (
	dockerNet   = "weir"       // the network under test
	dockerImage = "weir-pause" // image of the containers, see package image
)

func checkPods4(name string, t topo.Topology) error {
	return refuse(is6(t.PodAll.Addr()), name+": Docker gives a container an IPv6 address only together with an IPv4 one; use pods with IPv4")
}

// docker returns a command for the engine of a host.
func docker(args ...string) []string {
	return append([]string{"docker", "--host", "unix://" + plan.Dir + "/docker.sock"}, args...)
}

// dockerTimeout, in seconds, allows for a busy machine; an engine usually starts in one second.
const dockerTimeout = 30

// startDocker starts a separate engine on h, with args for dockerd, and loads the containers'
// image.
func startDocker(h topo.Host, args ...string) []plan.Step {
	argv := append([]string{"dockerd",
		"--config-file", plan.Dir + "/daemon.json", "--data-root", plan.Dir + "/data", "--exec-root", plan.Dir + "/exec",
		"--pidfile", plan.Dir + "/docker.pid", "--host", "unix://" + plan.Dir + "/docker.sock", "--group", "root",
		"--cgroup-parent", "/" + plan.Cgroup, "--exec-opt", "native.cgroupdriver=cgroupfs"}, args...)
	image := plan.Dir + "/image.tar"
	return []plan.Step{
		// Without this file, dockerd reads the machine's and makes a key in /etc/docker.
		{In: h.Name, File: &plan.File{Name: "daemon.json", Content: fmt.Sprintf("{%q: %q}\n", "deprecated-key-path", plan.Dir+"/key.json")}},
		{In: h.Name, Forwards: plugged(h, "docker", h.Dev), Service: &plan.Service{Name: "dockerd", Root: true, Argv: argv,
			// Regardless of its flags, dockerd writes to /var/lib/docker/network (libnetwork,
			// sandbox_dns_unix.go), and its containerd to /opt/containerd.
			Private: []string{"/var/lib", "/opt"},
			Ready:   plan.Ready{Line: "API listen on ", Timeout: dockerTimeout}}},
		run(h, "weir", "pause", image),
		run(h, docker("import", image, dockerImage)...),
	}
}

// containers runs a container on network for every pod of h, whose namespace the pod gets.
func containers(h topo.Host, network string) []plan.Step {
	var steps []plan.Step
	for _, pod := range h.Pods {
		argv := []string{"run", "--detach", "--name", pod.Name, "--log-driver", "none", "--network", network}
		if network == dockerNet { // docker0 does not let users choose addresses
			argv = append(argv, "--ip", pod.Addr.Addr().String())
		}
		steps = append(steps,
			run(h, docker(append(argv, dockerImage, "/weir", "pause")...)...),
			plan.Step{In: h.Name, Adopt: &plan.Adopt{Pod: pod.Name, PID: docker("inspect", "--format", "{{.State.Pid}}", pod.Name), Makes: []string{podDev}}})
	}
	return steps
}

func dockerVersion(h topo.Host) plan.Step {
	return find(h, "docker.version", docker("version", "--format", "{{.Server.Version}}")...)
}
