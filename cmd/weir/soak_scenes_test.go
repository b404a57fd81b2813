package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/facts"
)

// A scene is a run that is struck, or a lab.
type scene struct {
	name, stage string
	weight      int           // how often it plays
	span        time.Duration // that it takes, about: the moments of blows are within
	args        []string      // of weir run
	trials      int           // that a complete run has
	runs        int           // of a series; 0: a single run
	far         string        // how the command lines of weir's processes on other machines begin
	lacks       func() error  // why it cannot play here
}

// tiny returns the arguments of a run with trials of a few milliseconds, and the number of its trials.
func tiny(networks string, blocks int, more ...string) (args []string, trials int) {
	const probes = "udp-rr,tcp-stream"
	args = append([]string{"-n", networks, "-p", probes, "--blocks", fmt.Sprint(blocks), "--duration", "10ms", "--warmup", "0s", "--keep-disturbed"}, more...)
	inside := strings.Count(networks, ", ") // commas of one network
	return args, 2 * blocks * (strings.Count(networks, ",") - inside + 1)
}

var scenes = slices.Concat([]scene{
	ofRun("lab", "here", 40, 2500*time.Millisecond, "host,vxlan-overlay", 6, nil),
	ofSeries("lab, two runs", 8, 4*time.Second, "host,bridge", 3),
	{name: "lab up", stage: "here", weight: 20, span: 700 * time.Millisecond, lacks: able},
	ofRun("ovs", "here", 5, 5*time.Second, "host,ovs", 3, daemon("ovs-vswitchd")),
	ofRun("flannel-udp", "here", 4, 6*time.Second, "host,flannel-udp", 3, daemon("flanneld")),
	ofRun("flannel-vxlan", "here", 4, 6*time.Second, "host,flannel-vxlan", 3, daemon("flanneld")),
	ofRun("calico-bgp-datapath", "here", 4, 6*time.Second, "host,calico-bgp-datapath", 3, daemon("bird")),
	ofRun("calico-ipip", "here", 2, 20*time.Second, "host,calico-ipip", 2, ipip),
	ofRun("docker-bridge", "here", 3, 8*time.Second, "host,docker-bridge", 3, docker),
	ofRun("docker-overlay", "here", 3, 15*time.Second, "host,docker-overlay", 3, docker),
	ofRun("in-vm", "here", 1, 40*time.Second, "host", 3, guestErr, "--in-vm"),
	ofRun("vm-vxlan", "here", 1, 60*time.Second, "host,vm-vxlan", 2, func() error { return errors.Join(guestErr(), tunErr()) }),
	ofRun("ssh", "hosts", 1, 3*time.Second, "host,{use: via, dev: vx0}", 5, nil, "--ssh", "a,b"),
	ofRun("kube", "cluster", 3, 12*time.Second, "pod,service", 5, nil, "--kube", "--image", os.Getenv("WEIR_IMAGE")),
	ofRun("in-cluster", "cluster", 1, 15*time.Second, "pod", 5, nil, "--kube", "--in-cluster", "--image", os.Getenv("WEIR_IMAGE")),
}, onOwnHost())

// alone is the target on which only one run at a time changes the machine. Networks that start programs of others or load BPF
// programs play there.
const alone = "own host"

func onOwnHost() (all []scene) {
	for _, s := range []struct {
		network string
		span    time.Duration
		lacks   func() error
	}{
		{"docker-overlay", 15 * time.Second, docker},
		{"ovs-vxlan", 6 * time.Second, daemon("ovs-vswitchd")},
		{"flannel-vxlan", 6 * time.Second, daemon("flanneld")},
		{"calico-bgp-datapath", 6 * time.Second, daemon("bird")},
		{"calico", 20 * time.Second, daemon("/opt/calico/usr/bin/calico-node")},
		{"calico-ipip", 20 * time.Second, ipip},
		{"calico-vxlan", 20 * time.Second, daemon("/opt/calico/usr/bin/calico-node")},
		{"cilium", 20 * time.Second, daemon("/opt/cilium/usr/bin/cilium-agent")},
		{"cilium-native", 20 * time.Second, daemon("/opt/cilium/usr/bin/cilium-agent")},
		{"tc-redirect", 3 * time.Second, able},
		{"service-nftables", 3 * time.Second, able},
	} {
		all = append(all, ofRun(alone+", "+s.network, alone, 1, s.span, "host,"+s.network, 3, s.lacks))
	}
	return all
}

func ofRun(name, stage string, weight int, span time.Duration, networks string, blocks int, lacks func() error, more ...string) scene {
	s := scene{name: name, stage: stage, weight: weight, span: span, lacks: lacks}
	s.args, s.trials = tiny(networks, blocks, more...)
	if lacks == nil {
		s.lacks = able
	}
	if stage == "cluster" {
		s.far = "/weir"
	}
	return s
}

func ofSeries(name string, weight int, span time.Duration, networks string, blocks int) scene {
	s := ofRun(name, "here", weight, span, networks, blocks, nil, "--runs", "2")
	s.runs = 2
	return s
}

func able() error { return nil }

func daemon(name string) func() error {
	return func() error {
		if facts.Find(name) == "" {
			return fmt.Errorf("%s: not found", name)
		}
		return tunErr()
	}
}

// ipip fails unless the kernel has it, which Felix needs.
func ipip() error {
	if out, err := exec.Command("unshare", "--user", "--map-root-user", "--net", "ip", "link", "add", "soak0", "type", "ipip", "remote", "192.0.2.1", "local", "192.0.2.2").CombinedOutput(); err != nil {
		return fmt.Errorf("ipip: %s", out)
	}
	return daemon("/opt/calico/usr/bin/calico-node")()
}

func docker() error {
	if os.Geteuid() != 0 {
		return errors.New("dockerd needs root")
	}
	if _, err := exec.LookPath("dockerd"); err != nil {
		return err
	}
	return staticErr()
}

// round plays a scene: a few blows, then an end in peace, and looks at what is there after each. What is random in
// one of them does not depend on what the others met.
func (s scene) round(t *testing.T, seed uint64, count *tally) {
	r := newRound(t, s, seed, count)
	if *soakKills {
		r.kills(seed, 2)
		return
	}
	if s.args == nil {
		r.lab(seed)
		return
	}
	for n := range 2 + r.rng.Uint64N(6) {
		r.rng = rand.New(rand.NewPCG(seed, 2+n))
		b := blows[r.rng.IntN(len(blows))]
		status := r.start(r.next(), &b)
		r.intact()
		if status == 0 || r.atHome() { // it is complete
			break
		}
	}
	r.finish()
}

// kills ends a run n times, at random moments, by the end of the command or of any process below it.
func (r *round) kills(seed, n uint64) {
	for i := range n {
		r.rng = rand.New(rand.NewPCG(seed, 2+i))
		name := []string{"KILL weir", "KILL child"}[r.rng.IntN(2)]
		b := blows[slices.IndexFunc(blows, func(b blow) bool { return b.name == name })]
		r.start(r.next(), &b)
		r.intact()
	}
}

// lab starts, uses and ends a topology, while its processes are struck. Then it does so in peace.
func (r *round) lab(seed uint64) {
	up := []string{"lab", "up", "-n", []string{"bridge", "routed", "vxlan-overlay", "macvlan"}[r.rng.IntN(4)]}
	use, down := []string{"lab", "exec", "h1", "--", "sleep", ".3"}, []string{"lab", "down"}
	for n := range 4 + r.rng.Uint64N(9) {
		r.rng = rand.New(rand.NewPCG(seed, 2+n))
		b := blows[r.rng.IntN(len(signals))]
		r.start([][]string{up, use, down}[r.rng.IntN(3)], &b)
	}
	eventually(r.t, "the lab is down", func() bool { // the keeper of a killed `lab up` can come up later
		r.peace(down, 0, 3)
		return len(withEnv(r.mark)) == 0
	})
	for _, args := range [][]string{up, {"lab", "exec", "h1", "true"}, down} {
		r.peace(args, 0)
	}
	r.gone(nil)
}
