package network

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// DockerBridge connects the containers of one host with Docker's bridge driver: a
// veth for each, on a Linux bridge that the engine makes, with its rules of
// iptables. The engine is the host's own, with its own state, and ends with it. Its
// containers hold weir itself and wait, and are the pods: no image is downloaded.
type DockerBridge struct {
	Bridge string `yaml:"bridge"` // user: one that is made for them; docker0: the one that is always there
}

// A bridge that a user makes has its own subnet and name; docker0 is there from
// the start and hands out its addresses in order.
const (
	BridgeUser    = "user"
	BridgeDocker0 = "docker0"
)

// Plan starts Docker, makes the bridge and runs a container for every pod.
func (n DockerBridge) Plan(t topo.Topology) (plan.Plan, error) {
	const name = "docker-bridge"
	if len(t.Hosts) != 1 {
		return plan.Plan{}, fmt.Errorf("%s: needs exactly 1 host, topology has %d", name, len(t.Hosts))
	}
	if err := checkPods4(name, t); err != nil {
		return plan.Plan{}, err
	}
	mtu, err := podMTU(name, t, 0)
	if err != nil {
		return plan.Plan{}, err
	}
	h := t.Hosts[0]
	p := plan.Plan{Ends: podEnds(t, podDev), Path: path(t, mtu, 0)}
	var bridge string
	switch n.Bridge {
	case BridgeDocker0:
		bridge = "bridge"
		// It hands out the first free addresses of the range. The bridge has the one
		// that no pod has, which ends in 0 and is like any other in a network as large.
		bip := netip.PrefixFrom(h.PodNet.Addr(), t.PodAll.Bits())
		p.Steps = append(p.Steps, startDocker(h, "--bip", bip.String(), "--fixed-cidr", h.PodNet.String(), "--mtu", strconv.Itoa(mtu))...)
	case BridgeUser:
		bridge = dockerNet
		p.Steps = append(p.Steps, startDocker(h)...)
		p.Steps = append(p.Steps, dockerStep(h, "network", "create", "--driver", "bridge",
			"--subnet", t.PodAll.Masked().String(), "--gateway", gateway(h.PodNet).String(),
			"--opt", "com.docker.network.bridge.name="+bridgeDev, "--opt", "com.docker.network.driver.mtu="+strconv.Itoa(mtu), bridge))
	default:
		return plan.Plan{}, fmt.Errorf("%s: bridge %q is neither %s nor %s", name, n.Bridge, BridgeUser, BridgeDocker0)
	}
	p.Steps = append(p.Steps, containers(h, bridge)...)
	if t.NoOffload {
		// What is segmented when it leaves a pod is nowhere joined: neither a veth
		// nor a bridge does, see noOffload.
		for _, pod := range h.Pods {
			p.Steps = append(p.Steps, plan.Step{In: pod.Name, Offload: &plan.Offload{Dev: podDev, Features: noOffload("veth")}})
		}
	}
	p.Steps = append(p.Steps, dockerVersion(h))
	p.Expect = expect(t, p)
	return p, nil
}

// Names in every Docker engine.
const (
	dockerNet   = "weir"       // the network under test
	dockerImage = "weir-pause" // of the containers, see package pause
)

// checkPods4 refuses pods with IPv6 addresses.
func checkPods4(name string, t topo.Topology) error {
	if is6(t.PodAll.Addr()) {
		return fmt.Errorf("%s: Docker gives a container an IPv6 address only beside one of IPv4; use pods with IPv4", name)
	}
	return nil
}

// docker is a command to the engine of a host.
func docker(args ...string) []string {
	return append([]string{"docker", "--host", "unix://" + plan.Dir + "/docker.sock"}, args...)
}

func dockerStep(h topo.Host, args ...string) plan.Step {
	return plan.Step{In: h.Name, Exec: &plan.Exec{Argv: docker(args...)}}
}

// dockerTimeout is for a busy machine: an engine takes a second to start.
const dockerTimeout = 30

// startDocker starts an engine on h that shares nothing with another, and loads
// the image of the containers. args are more arguments of dockerd.
func startDocker(h topo.Host, args ...string) []plan.Step {
	argv := append([]string{"dockerd",
		"--config-file", plan.Dir + "/daemon.json", "--data-root", plan.Dir + "/data", "--exec-root", plan.Dir + "/exec",
		"--pidfile", plan.Dir + "/docker.pid", "--host", "unix://" + plan.Dir + "/docker.sock", "--group", "root",
		"--cgroup-parent", "/" + plan.Cgroup, "--exec-opt", "native.cgroupdriver=cgroupfs"}, args...)
	image := plan.Dir + "/image.tar"
	return []plan.Step{
		// Otherwise it would read the machine's, and make a key in /etc/docker.
		{In: h.Name, File: &plan.File{Name: "daemon.json", Content: fmt.Sprintf("{%q: %q}\n", "deprecated-key-path", plan.Dir+"/key.json")}},
		{In: h.Name, Service: &plan.Service{Name: "dockerd", Root: true, Argv: argv,
			// Whatever its flags say, it writes to /var/lib/docker/network (libnetwork,
			// sandbox_dns_unix.go), and its containerd to /opt/containerd.
			Private: []string{"/var/lib", "/opt"},
			Ready:   plan.Ready{Line: "API listen on ", Timeout: dockerTimeout}}},
		{In: h.Name, Exec: &plan.Exec{Argv: []string{"weir", "pause", image}}},
		dockerStep(h, "import", image, dockerImage),
	}
}

// containers runs a container on network for every pod of h, which gets its
// network namespace.
func containers(h topo.Host, network string) []plan.Step {
	var steps []plan.Step
	for _, pod := range h.Pods {
		run := []string{"run", "--detach", "--name", pod.Name, "--log-driver", "none", "--network", network}
		if network == dockerNet { // docker0 takes no wishes
			run = append(run, "--ip", pod.Addr.Addr().String())
		}
		steps = append(steps,
			dockerStep(h, append(run, dockerImage, "/weir", "pause")...),
			plan.Step{In: h.Name, Adopt: &plan.Adopt{Pod: pod.Name, PID: docker("inspect", "--format", "{{.State.Pid}}", pod.Name), Makes: []string{podDev}}})
	}
	return steps
}

// dockerVersion finds out what runs on h.
func dockerVersion(h topo.Host) plan.Step {
	return plan.Step{In: h.Name, Exec: &plan.Exec{Argv: docker("version", "--format", "{{.Server.Version}}"), Found: "docker.version"}}
}
