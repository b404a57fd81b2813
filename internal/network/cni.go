package network

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// CNI attaches every pod with CNI plugins, run as a kubelet would run them. Otherwise it is Routed:
// hosts forward and have routes to each other's pods.
//
// host-local assigns the addresses, as is usual. weir requests the topology's addresses (argument
// IP), which keeps the plan data.
type CNI struct {
	Plugin   string   `yaml:"plugin"`   // bridge, ptp, macvlan or ipvlan; bridge if neither plugin nor conflist is given
	Conflist Conflist `yaml:"conflist"` // a list of plugins instead
	Dir      string   `yaml:"dir"`      // directory of the plugins; default CNI_PATH, or else the usual directories
}

// A Conflist is a CNI network configuration list as JSON. In a study it is the text itself or a
// file name. The file is read with the study, so the network does not depend on it later.
type Conflist string

// maxConflist bounds a conflist, bytes.
const maxConflist = 1 << 20

// UnmarshalText reads the JSON in b, or in the file that b names.
func (c *Conflist) UnmarshalText(b []byte) error {
	s := strings.TrimSpace(string(b))
	if !strings.HasPrefix(s, "{") {
		b, err := foreign.ReadFile(s, maxConflist)
		if err != nil {
			return err
		}
		s = string(b)
	}
	if !json.Valid([]byte(s)) {
		return errors.New("the conflist is not valid JSON")
	}
	*c = Conflist(s)
	return nil
}

func (n CNI) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := newPlan("cni", t, 1, 0, checkAbs("cni", cmp.Or(n.Dir, "/")))
	if err != nil {
		return plan.Plan{}, err
	}
	mtu := p.Path.MTU
	list, err := n.list(t.Hosts[0].Dev, mtu)
	if err != nil {
		return plan.Plan{}, fmt.Errorf("cni: %w", err)
	}
	if own, ok := list.Plugins[0]["mtu"].(float64); ok { // how JSON decodes numbers
		switch {
		case own > float64(mtu):
			return plan.Plan{}, fmt.Errorf("cni: the conflist's MTU %v is above the underlay's %d; lower it, or raise the underlay's", own, mtu)
		case own < topo.MinMTU || own != math.Trunc(own):
			return plan.Plan{}, fmt.Errorf("cni: invalid MTU %v in the conflist: want whole bytes from %d to the underlay's %d; 0 is the underlay's", own, topo.MinMTU, mtu)
		}
		p.Path.MTU = int(own)
	}
	kind, _ := list.Plugins[0]["type"].(string)
	list.flat = kind == "macvlan" || kind == "ipvlan"
	if !list.flat {
		if err := oneFamily("cni", t); err != nil {
			return plan.Plan{}, err
		}
		p.Steps = hostRoutes(t, noDevs)
	} else if t.NoOffload && len(t.Hosts) == 1 {
		return plan.Plan{}, fmt.Errorf("cni: cannot switch off segmentation between pods of one host on %s; use 2 hosts, or leave the offloads on", kind)
	}
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, list.attach(t, h, n.Dir, h.Dev)...)
	}
	return expect(t, p), nil
}

func (n CNI) list(dev string, mtu int) (*conflist, error) {
	l := &conflist{Version: cniVersion, Name: "weir"}
	if n.Conflist != "" {
		if n.Plugin != "" {
			return nil, errors.New("both plugin and conflist are given; use one of them")
		}
		if err := json.Unmarshal([]byte(n.Conflist), l); err != nil {
			return nil, fmt.Errorf("conflist: %w", err)
		}
		if len(l.Plugins) == 0 || slices.ContainsFunc(l.Plugins, func(p plugin) bool { return p == nil }) {
			return nil, errors.New("the conflist has no plugins, or one that is null")
		}
		if own, ok := l.Plugins[0]["mtu"]; !ok || own == 0.0 { // plugins take 0 for none
			l.Plugins[0]["mtu"] = mtu
		}
		return l, nil
	}
	l.Plugins = map[string][]plugin{
		"":        bridgePlugin(mtu),
		"bridge":  bridgePlugin(mtu),
		"ptp":     ptpPlugin(mtu),
		"macvlan": {{"type": "macvlan", "master": dev, "mode": "bridge", "mtu": mtu}},
		"ipvlan":  {{"type": "ipvlan", "master": dev, "mode": "l2", "mtu": mtu}},
	}[n.Plugin]
	if l.Plugins == nil {
		return nil, fmt.Errorf("invalid plugin %q: want bridge, ptp, macvlan or ipvlan; any other needs a conflist", n.Plugin)
	}
	return l, nil
}

// cniVersion is the newest version of the specification that Debian 12's plugins support.
const cniVersion = "1.0.0"

const cniBridge = "cni0"

// A plugin is the configuration of one plugin, the only one that knows its keys.
type plugin map[string]any

// A conflist is a CNI network.
type conflist struct {
	Version string   `json:"cniVersion"`
	Name    string   `json:"name"`
	Plugins []plugin `json:"plugins"`
	flat    bool     // all pods are neighbors on the underlay
}

// bridgePlugin connects a pod to the bridge cniBridge, which is its router.
func bridgePlugin(mtu int) []plugin {
	return []plugin{{"type": "bridge", "bridge": cniBridge, "isGateway": true, "hairpinMode": true, "mtu": mtu}}
}

// ptpPlugin gives a pod a veth with its router at the other end.
func ptpPlugin(mtu int) []plugin { return []plugin{{"type": "ptp", "mtu": mtu}} }

// attach adds the pods of h to the network. Its files are below {dir}/cni. The first plugin always
// uses host-local for addresses, whatever its configuration. Packets to other hosts leave through under.
func (l conflist) attach(t topo.Topology, h topo.Host, dir, under string) []plan.Step {
	first := maps.Clone(l.Plugins[0])
	addrs := map[string]any{"subnet": t.PodAll}
	ipam := map[string]any{"type": "host-local", "dataDir": plan.Dir + "/cni/ipam"}
	if !l.flat {
		addrs = map[string]any{"subnet": h.PodNet, "gateway": h.Gateway()}
		ipam["routes"] = []map[string]any{{"dst": defaultRoute(h.PodNet.Addr())}}
	}
	ipam["ranges"] = [][]map[string]any{{addrs}}
	first["ipam"] = ipam
	l.Plugins = append([]plugin{first}, l.Plugins[1:]...)
	bridge, _ := first["bridge"].(string)
	file := l.file(h, cmp.Or(bridge, under))
	file.Forwards = append(file.Forwards, forwards("cni", bridge, under)...)
	steps := []plan.Step{file}
	if is6(h.PodNet.Addr()) {
		// Plugins rely on the kernel's default: a router needs a link-local address.
		steps = append(steps, sysctl(h.Name, "net.ipv6.conf.default.addr_gen_mode", "0"))
	}
	hostLocal, env := "host-local", []string(nil)
	if dir != "" {
		hostLocal, env = dir+"/host-local", []string{"CNI_PATH=" + dir}
	}
	if first["type"] == "bridge" {
		// Kubernetes, which runs these plugins, leaves the keys to whoever connects containers to a
		// Linux bridge and requires 1, without which its proxy sees no traffic between pods of a
		// host (kubernetes#123464). kubeadm checked it up to 1.29; flanneld looks for the key since
		// 0.26 (flannel#2082).
		steps = append(steps, bridgeNF(t, h.Name, nfOn)...)
	}
	for i, pod := range h.Pods {
		var makes []string
		if i == 0 && bridge != "" {
			makes = []string{bridge}
		}
		steps = append(steps, addPod(h, pod, env, makes...))
	}
	steps = append(steps, find(h, "cni.plugins", hostLocal))
	if t.NoOffload && !l.flat {
		steps = append(steps, pluggedNoOffload(h, bridge)...)
	}
	return steps
}

// cniFile is the configuration list of a host's network, below plan.Dir.
const cniFile = "cni/weir.conflist"

// file defines the network, which connects the pods of h with each other and with dev.
func (l conflist) file(h topo.Host, dev string) plan.Step {
	return plan.Step{In: h.Name, Forwards: plugged(h, "cni", dev), File: &plan.File{Name: cniFile, Content: toJSON(l) + "\n"}}
}

// plugged states that packets pass between the pods of h and its device dev, whatever a program puts between them.
func plugged(h topo.Host, by, dev string) []plan.Forwarding {
	devs := []string{dev}
	for _, pod := range h.Pods {
		devs = append(devs, pod.Name+"/"+podDev)
	}
	return forwards(by, devs...)
}

// addPod attaches pod to the network of h's cniFile until the network is closed. makes lists
// devices of the host that this also creates.
func addPod(h topo.Host, pod topo.Pod, env []string, makes ...string) plan.Step {
	words := []string{plan.Dir + "/" + cniFile, pod.Name, pod.Addr.Addr().String()}
	return plan.Step{In: h.Name, Exec: &plan.Exec{Env: env, Makes: append(makes, pod.Name+"/"+podDev),
		Argv: append([]string{"weir", "cni", "add"}, words...),
		Undo: append([]string{"weir", "cni", "del"}, words...)}}
}

// pluggedNoOffload switches off the offloads of the devices that plugins made on h. It skips the
// host ends of the pods' veths, which have random names: packets there are already segmented, and
// no other device segments or joins.
func pluggedNoOffload(h topo.Host, bridge string) []plan.Step {
	var steps []plan.Step
	if bridge != "" {
		steps = append(steps, plan.Step{In: h.Name, Offload: &plan.Offload{Dev: bridge, Features: noOffload("bridge")}})
	}
	for _, pod := range h.Pods {
		steps = append(steps, plan.Step{In: pod.Name, Offload: &plan.Offload{Dev: podDev, Features: noOffload("veth")}})
	}
	return steps
}
