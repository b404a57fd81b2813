package kube

import (
	"slices"
	"strings"
)

type daemonSet struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Template struct {
			Spec struct {
				Containers []struct {
					Image string `json:"image"`
				} `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

// products lists CNI plugins by parts of their images' names and by devices that only they make. No API
// names the plugin of a cluster.
var products = []struct {
	name    string
	images  []string
	devices []string
}{
	{"Cilium", []string{"/cilium"}, []string{"cilium_host", "cilium_net", "cilium_vxlan", "cilium_geneve"}},
	{"Calico", []string{"calico/node", "calico-node"}, []string{"vxlan.calico", "vxlan-v6.calico", "wireguard.cali"}},
	{"Flannel", []string{"flannel"}, []string{"flannel.1", "flannel-v6.1", "flannel-wg", "flannel-wg-v6"}},
	{"Antrea", []string{"antrea"}, []string{"antrea-gw0", "antrea-tun0"}},
	{"OVN-Kubernetes", []string{"ovn-kube"}, []string{"ovn-k8s-mp0"}},
	{"Kube-router", []string{"kube-router"}, []string{"kube-bridge"}},
	{"Weave Net", []string{"weave-kube"}, []string{"weave", "vxlan-6784"}},
	{"kindnet", []string{"kindnetd"}, nil},
	{"Amazon VPC CNI", []string{"amazon-k8s-cni"}, nil},
	{"Azure CNI", []string{"containernetworking/azure"}, nil},
}

const unknownCNI = "unknown CNI"

// cni names the CNI plugins that DaemonSets and devices show, with the evidence.
func cni(sets []daemonSet, devices []string) string {
	var found []string
	for _, p := range products {
		evidence := ""
		for _, s := range sets {
			for _, c := range s.Spec.Template.Spec.Containers {
				if slices.ContainsFunc(p.images, func(part string) bool { return strings.Contains(c.Image, part) }) {
					evidence = "image " + bounded(oneLine(c.Image))
				}
			}
		}
		for _, d := range p.devices {
			if evidence == "" && slices.Contains(devices, d) {
				evidence = "device " + d
			}
		}
		if evidence != "" {
			found = append(found, p.name+" ("+evidence+")")
		}
	}
	if len(found) == 0 {
		return unknownCNI
	}
	return strings.Join(found, ", ")
}
