package study

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/strictyaml"
)

// A Target says where networks exist that a study measures without building them. The zero Target is
// the lab of this machine.
type Target struct {
	SSH   []string // machines as ssh(1) names them, or NAME=ADDRESS to measure between other addresses
	Kube  *Kube    // nil: no cluster
	Ports string   // FIRST-LAST, the ports that servers listen on; "" is the default range
}

// Exists reports whether t is anything but the lab.
func (t Target) Exists() bool { return len(t.SSH) > 0 || t.Kube != nil }

// InCluster reports whether a coordinator in the cluster carries out the run.
func (t Target) InCluster() bool { return t.Kube != nil && t.Kube.InCluster }

// A Kube is a Kubernetes cluster.
type Kube struct {
	Context   string // of the kubeconfig; "" is the current one
	Namespace string // "" makes one for the run
	Nodes     Nodes  // names; none: two that differ in zone if possible; "all": every node that can run pods
	Image     string // that holds weir (weir image); "" starts Shell and sends weir there
	Shell     string // image with a POSIX shell; "" is the default
	Keep      bool   // leave the objects in the cluster

	PullSecret  string   `yaml:"pull-secret"` // of the namespace, for the image; "" is none
	Tolerations []string // of all pods: KEY, KEY=VALUE, KEY:EFFECT or KEY=VALUE:EFFECT
	CPU, Memory string   // that a pod requests, as Kubernetes writes quantities; "" is the default

	// InCluster starts a coordinator in the cluster that carries out the run. Its results are on the claim Volume; if
	// that is "", on a claim of the default StorageClass if there is one; otherwise, or with "-", on the coordinator's
	// node. Both fields say how one command works, so no study states them.
	InCluster bool   `yaml:"-"`
	Volume    string `yaml:"-"`
}

// Nodes is a list of nodes; as text, one name or "all".
type Nodes []string

func (n *Nodes) UnmarshalText(b []byte) error {
	*n = Nodes{string(b)}
	return nil
}

// AllNodes is the only element of Nodes that stand for every node.
const AllNodes = "all"

// trim makes nil of empty lists, which a study file can also leave out.
func (t *Target) trim() {
	if len(t.SSH) == 0 {
		t.SSH = nil
	}
	if k := t.Kube; k != nil && len(k.Tolerations) == 0 {
		k.Tolerations = nil
	}
}

// Hosts returns the number of machines that t names; 0 if the cluster decides.
func (t Target) Hosts() int {
	switch {
	case t.Kube == nil:
		return len(t.SSH)
	case slices.Equal(t.Kube.Nodes, Nodes{AllNodes}):
		return 0
	}
	return len(t.Kube.Nodes)
}

// PortRange returns the ports of servers, both included; zero for the default range.
func (t Target) PortRange() (first, last uint16, err error) {
	if t.Ports == "" {
		return 0, 0, nil
	}
	low, high, ok := strings.Cut(t.Ports, "-")
	a, err1 := strconv.ParseUint(low, 10, 16)
	b, err2 := strconv.ParseUint(high, 10, 16)
	if !ok || err1 != nil || err2 != nil || a < 1 || b < a {
		return 0, 0, fmt.Errorf("invalid range of ports %q: write FIRST-LAST, two numbers from 1 to 65535, such as 5201-5299", t.Ports)
	}
	return uint16(a), uint16(b), nil
}

// String returns t in the form of a study file.
func (t Target) String() string {
	all, text, list := &strictyaml.Node{Kind: strictyaml.Mapping}, strictyaml.NewText, strictyaml.NewList
	all.Add("ssh", list(t.SSH))
	if k := t.Kube; k != nil {
		one := &strictyaml.Node{Kind: strictyaml.Mapping}
		one.Add("context", text(k.Context))
		one.Add("namespace", text(k.Namespace))
		one.Add("nodes", list(k.Nodes))
		one.Add("image", text(k.Image))
		one.Add("shell", text(k.Shell))
		if k.Keep {
			one.Add("keep", text("true"))
		}
		one.Add("pull-secret", text(k.PullSecret))
		one.Add("tolerations", list(k.Tolerations))
		one.Add("cpu", text(k.CPU))
		one.Add("memory", text(k.Memory))
		all.Add("kube", one)
	}
	all.Add("ports", text(t.Ports))
	return all.Flow()
}

// checkTarget reports mistakes in the target, and parts of the topology that only a lab can have.
func (s Study) checkTarget(c *checker) {
	t, on := s.Target, s.Topology
	if !t.Exists() {
		c.that(t.Ports == "", key("target", "ports"), "need machines: add ssh: [a, b] or kube: {}")
		return
	}
	c.that(len(t.SSH) == 0 || t.Kube == nil, key("target"), "has both ssh and kube: a run measures one target; make two studies, or two runs")
	_, _, err := t.PortRange()
	c.that(err == nil, key("target", "ports"), "has an %w", err)
	if t.Kube != nil {
		t.Kube.check(c)
	} else {
		c.that(len(t.SSH) > 1, key("target", "ssh"), "names one machine: a network has two ends; name two or more")
		c.names(key("target", "ssh"), t.SSH, checkMachine)
		c.that(on.Pods == 1, key("pods"), "%d: machines have no pods; leave pods out, or measure a cluster (kube)", on.Pods)
		c.that(!on.IPv6 && !on.PodsIPv6, key("target", "ssh"), "takes IPv6 by address: name them, as in [a=fd00::1, b=fd00::2], and leave ipv6 out")
	}
	n := t.Hosts()
	c.that(n > 0 || t.Kube == nil || t.Kube.Nodes != nil || on.Hosts <= 2, key("hosts"), "%d: weir chooses two nodes; name more of them (nodes), or all", on.Hosts)
	c.that(n == 0 || n == on.Hosts, key("hosts"), "%d contradicts the %d machines of the target; leave hosts out", on.Hosts, n)
	const theirs = "is not weir's to set on machines that exist; leave it out, or measure in the lab (without a target)"
	c.that(on.MTU == Default().Topology.MTU, key("underlay", "mtu"), theirs)
	c.that(on.Link == "", key("underlay", "link"), theirs)
	c.that(on.NIC == "", key("underlay", "nic"), theirs)
	c.that(on.Distance.Delay == 0, key("underlay", "delay"), theirs)
	c.that(on.Distance.Loss == 0, key("underlay", "loss"), theirs)
	c.that(s.Episodes <= 1, key("episodes"), "%d: weir cannot rebuild a network that exists; leave episodes out", s.Episodes)
}

// check reports mistakes in what kubectl(1) gets as arguments or in manifests.
func (k *Kube) check(c *checker) {
	at := func(name string) []string { return key("target", "kube", name) }
	c.that(!strings.HasPrefix(k.Context, "-") && foreign.Printable(k.Context), at("context"), "%q is not a name; kubectl config get-contexts lists them", k.Context)
	c.that(k.Namespace == "" || len(k.Namespace) <= 63 && dnsLabel.MatchString(k.Namespace), at("namespace"), "%q is invalid: want at most 63 lower-case letters, digits and -", k.Namespace)
	c.that(k.Image == "" || image.MatchString(k.Image), at("image"), "%q is not the name of an image, such as registry.example/weir:1.0", k.Image)
	c.that(k.Shell == "" || image.MatchString(k.Shell), at("shell"), "%q is not the name of an image, such as busybox:1.36", k.Shell)
	c.that(k.Image == "" || k.Shell == "", at("shell"), "is for clusters without an image of weir; leave out shell or image")
	c.that(k.PullSecret == "" || len(k.PullSecret) <= 253 && subdomain.MatchString(k.PullSecret), at("pull-secret"), "%q is not the name of a Secret; kubectl get secrets lists them", k.PullSecret)
	c.that(k.PullSecret == "" || k.Namespace != "", at("pull-secret"), "%q is in a namespace; name that one (namespace), because weir makes an empty one otherwise", k.PullSecret)
	for _, s := range k.Tolerations {
		c.that(toleration.MatchString(s), at("tolerations"), "has %q: want KEY, KEY=VALUE, KEY:EFFECT or KEY=VALUE:EFFECT, such as dedicated=net:NoSchedule", s)
	}
	c.that(k.CPU == "" || quantity.MatchString(k.CPU), at("cpu"), "%q is not an amount of CPU, such as 500m or 2", k.CPU)
	c.that(k.Memory == "" || quantity.MatchString(k.Memory), at("memory"), "%q is not an amount of memory, such as 128Mi or 1Gi", k.Memory)
	c.that(k.Volume == "" || k.Volume == "-" || len(k.Volume) <= 253 && subdomain.MatchString(k.Volume), at("volume"), "%q is not the name of a claim; kubectl get persistentvolumeclaims lists them", k.Volume)
	if k.Nodes != nil && !slices.Equal(k.Nodes, Nodes{AllNodes}) {
		c.names(at("nodes"), k.Nodes, checkNode)
	}
}

// names reports invalid and repeated names.
func (c *checker) names(at, names []string, check func(string) error) {
	c.that(len(names) > 0, at, "is empty")
	for i, n := range names {
		err := check(n)
		c.that(err == nil, at, "%w", err)
		same := func(other string) bool { return sameMachine(n, other) }
		c.that(!slices.ContainsFunc(names[:i], same), at, "names %q twice: name different machines", n)
	}
}

// sameMachine reports whether two entries have one name or one address.
func sameMachine(a, b string) bool {
	nameA, addrA, _ := strings.Cut(a, "=")
	nameB, addrB, _ := strings.Cut(b, "=")
	return strings.EqualFold(nameA, nameB) || addrA != "" && addrA == addrB
}

// checkMachine checks NAME or NAME=ADDRESS. ssh(1) passes a name on to the programs of its configuration,
// so shells must not find anything in it.
func checkMachine(s string) error {
	name, addr, has := strings.Cut(s, "=")
	switch {
	case name == "":
		return errors.New("has an empty name: write NAME or NAME=ADDRESS, as in [a, b=10.0.0.2]")
	case len(name) > 255 || strings.HasPrefix(name, "-") || strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-._@:/[]%+~", r)
	}):
		return fmt.Errorf("has the invalid name %.40q: write it as for ssh, such as b or user@b", name)
	}
	if _, err := netip.ParseAddr(addr); has && err != nil {
		return fmt.Errorf("has the invalid address %.60q of %s: write NAME=ADDRESS, as in b=10.0.0.2", addr, name)
	}
	return nil
}

// Names in Kubernetes: RFC 1123 labels and subdomains (apimachinery/pkg/util/validation).
var (
	dnsLabel  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
	image     = regexp.MustCompile(`^[A-Za-z0-9][\w.:/@-]{0,511}$`)
	// Keys and values of labels, and the effects of taints (core/v1, Taint).
	toleration = regexp.MustCompile(`^[A-Za-z0-9][\w./-]{0,316}(=([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?)?(:(NoSchedule|PreferNoSchedule|NoExecute))?$`)
	// Quantities, without exponents (apimachinery/pkg/api/resource).
	quantity = regexp.MustCompile(`^[0-9]{1,15}(\.[0-9]{1,9})?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$`)
)

func checkNode(s string) error {
	if len(s) > 253 || !subdomain.MatchString(s) || s == AllNodes {
		return fmt.Errorf("has the invalid node %.40q: kubectl get nodes lists the names; all stands alone", s)
	}
	return nil
}
