package study

import (
	"reflect"
	"strings"
	"testing"
)

func TestTarget(t *testing.T) {
	for src, want := range map[string]struct {
		target  Target
		hosts   int
		encoded string
	}{
		"{ssh: [a, user@b, c=10.0.0.2, \"d=fd00::1\"]}": {Target{SSH: []string{"a", "user@b", "c=10.0.0.2", "d=fd00::1"}}, 4, `{ssh: [a, "user@b", "c=10.0.0.2", "d=fd00::1"]}`},
		"{ssh: [a, b], ports: 7000-7100}":               {Target{SSH: []string{"a", "b"}, Ports: "7000-7100"}, 2, "{ssh: [a, b], ports: 7000-7100}"},
		"{kube: {}}":                                    {Target{Kube: &Kube{}}, 2, "{kube: {}}"},
		"{kube: {nodes: all}}":                          {Target{Kube: &Kube{Nodes: Nodes{"all"}}}, 2, "{kube: {nodes: [all]}}"},
		"{kube: {nodes: n1}}":                           {Target{Kube: &Kube{Nodes: Nodes{"n1"}}}, 1, "{kube: {nodes: [n1]}}"},
		"{kube: {context: \"arn:aws/x\", namespace: net, nodes: [n1, n2.example, n3], image: r.example/weir:1, keep: true}}": {
			Target{Kube: &Kube{Context: "arn:aws/x", Namespace: "net", Nodes: Nodes{"n1", "n2.example", "n3"}, Image: "r.example/weir:1", Keep: true}}, 3,
			`{kube: {context: "arn:aws/x", namespace: net, nodes: [n1, n2.example, n3], image: "r.example/weir:1", keep: true}}`},
		"{kube: {namespace: net, image: i, pull-secret: reg, tolerations: [\"a=b:NoSchedule\", gpu], cpu: 2, memory: 1Gi}}": {
			Target{Kube: &Kube{Namespace: "net", Image: "i", PullSecret: "reg", Tolerations: []string{"a=b:NoSchedule", "gpu"}, CPU: "2", Memory: "1Gi"}}, 2,
			`{kube: {namespace: net, image: i, pull-secret: reg, tolerations: ["a=b:NoSchedule", gpu], cpu: 2, memory: 1Gi}}`},
	} {
		s, err := Load([]byte(minimal+"target: "+src+"\n"), "f")
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if !reflect.DeepEqual(s.Target, want.target) || s.Topology.Hosts != want.hosts {
			t.Errorf("%s: %+v, %d hosts; want %+v, %d", src, s.Target, s.Topology.Hosts, want.target, want.hosts)
		}
		if got := s.Target.String(); got != want.encoded {
			t.Errorf("%s: encoded as %s, want %s", src, got, want.encoded)
		}
		checkRoundTrip(t, s)
	}
	if s, err := Load([]byte(minimal), "f"); err != nil || s.Target.Exists() {
		t.Errorf("no target: %+v, %v", s.Target, err)
	}
	b, err := Default().withHost().Encode()
	if err != nil || strings.Contains(string(b), "target") {
		t.Errorf("a study for the lab names a target: %v\n%s", err, b)
	}
}

func (s Study) withHost() Study {
	s.Networks, s.Probes = []Use{{Kind: "host"}}, []Use{{Kind: "ping"}}
	return s.Resolve()
}

func TestTargetErrors(t *testing.T) {
	for src, want := range map[string]string{
		"target: {}":                                           "",
		"target: {ssh: [a]}":                                   "f:3: target.ssh names one machine: a network has two ends; name two or more",
		"target: {ssh: []}":                                    "",
		"target: {ssh: [a, a]}":                                `f:3: target.ssh names "a" twice: name different machines`,
		"target: {ssh: [a, A]}":                                `f:3: target.ssh names "A" twice`,
		"target: {ssh: [a, a=10.0.0.1]}":                       `f:3: target.ssh names "a=10.0.0.1" twice`,
		"target: {ssh: [a=10.0.0.1, b=10.0.0.1]}":              `f:3: target.ssh names "b=10.0.0.1" twice`,
		"target: {ssh: [a, -oProxyCommand=x]}":                 `f:3: target.ssh has the invalid name "-oProxyCommand": write it as for ssh, such as b or user@b`,
		"target: {ssh: [a, \"b;reboot\"]}":                     `f:3: target.ssh has the invalid name "b;reboot"`,
		"target: {ssh: [a, \"b\\nc\"]}":                        `f:3: target.ssh has the invalid name "b\nc"`,
		"target: {ssh: [a, \"$(x)\"]}":                         `f:3: target.ssh has the invalid name "$(x)"`,
		"target: {ssh: [a, \"\"]}":                             "f:3: target.ssh has an empty name: write NAME or NAME=ADDRESS",
		"target: {ssh: [a, b=c]}":                              `f:3: target.ssh has the invalid address "c" of b: write NAME=ADDRESS`,
		"target: {ssh: [a, b=]}":                               `f:3: target.ssh has the invalid address "" of b`,
		"target: {ssh: [a, b], kube: {}}":                      "f:3: target has both ssh and kube: a run measures one target",
		"target: {ssh: [a, b], port: 1-2}":                     `f:3: target has no key "port": did you mean "ports"? (known: kube, ports, ssh)`,
		"target: {ssh: [a, b], ports: 5}":                      `f:3: target.ports has an invalid range of ports "5": write FIRST-LAST`,
		"target: {ssh: [a, b], ports: 9-8}":                    `invalid range of ports "9-8"`,
		"target: {ssh: [a, b], ports: 0-8}":                    `invalid range of ports "0-8"`,
		"target: {ssh: [a, b], ports: 1-65536}":                `invalid range of ports "1-65536"`,
		"target: {ports: 1-2}":                                 "f:3: target.ports need machines: add ssh: [a, b] or kube: {}",
		"target: {kube: {nodes: [n1, n1]}}":                    `f:3: target.kube.nodes names "n1" twice`,
		"target: {kube: {nodes: []}}":                          "f:3: target.kube.nodes is empty",
		"target: {kube: {nodes: [all, n1]}}":                   `f:3: target.kube.nodes has the invalid node "all": kubectl get nodes lists the names; all stands alone`,
		"target: {kube: {nodes: [--all]}}":                     `f:3: target.kube.nodes has the invalid node "--all"`,
		"target: {kube: {context: --help}}":                    `f:3: target.kube.context "--help" is not a name; kubectl config get-contexts lists them`,
		"target: {kube: {namespace: Prod}}":                    `f:3: target.kube.namespace "Prod" is invalid: want at most 63 lower-case letters, digits and -`,
		"target: {kube: {image: \"a b\"}}":                     `f:3: target.kube.image "a b" is not the name of an image`,
		"target: {kube: {shell: -x}}":                          `f:3: target.kube.shell "-x" is not the name of an image`,
		"target: {kube: {image: a, shell: b}}":                 "f:3: target.kube.shell is for clusters without an image of weir; leave out shell or image",
		"target: {kube: {pull-secret: reg}}":                   `f:3: target.kube.pull-secret "reg" is in a namespace; name that one (namespace)`,
		"target: {kube: {namespace: n, pull-secret: \"a b\"}}": `f:3: target.kube.pull-secret "a b" is not the name of a Secret`,
		"target: {kube: {tolerations: [\"a=b:Never\"]}}":       `f:3: target.kube.tolerations has "a=b:Never": want KEY, KEY=VALUE, KEY:EFFECT or KEY=VALUE:EFFECT`,
		"target: {kube: {cpu: many}}":                          `f:3: target.kube.cpu "many" is not an amount of CPU, such as 500m or 2`,
		"target: {kube: {memory: 1GB}}":                        `f:3: target.kube.memory "1GB" is not an amount of memory`,
		"target: {kube: {in-cluster: true}}":                   "has no key \"in-cluster\"",
		"target: {kube: {keep: maybe}}":                        "f:3: keep: ",
		"hosts: 3\ntarget: {ssh: [a, b]}":                      "f:3: hosts 3 contradicts the 2 machines of the target; leave hosts out",
		"hosts: 2\ntarget: {kube: {nodes: n1}}":                "f:3: hosts 2 contradicts the 1 machines",
		"pods: 2\ntarget: {ssh: [a, b]}":                       "f:3: pods 2: machines have no pods; leave pods out, or measure a cluster (kube)",
		"underlay: {mtu: 9000}\ntarget: {ssh: [a, b]}":         "f:3: underlay.mtu is not weir's to set on machines that exist; leave it out, or measure in the lab (without a target)",
		"underlay: {link: 1gbit}\ntarget: {kube: {}}":          "f:3: underlay.link is not weir's to set",
		"underlay: {nic: none}\ntarget: {kube: {}}":            "f:3: underlay.nic is not weir's to set",
		"underlay: {delay: 1ms}\ntarget: {kube: {}}":           "f:3: underlay.delay is not weir's to set",
		"underlay: {loss: 1%}\ntarget: {kube: {}}":             "f:3: underlay.loss is not weir's to set",
		"underlay: {ipv6: true}\ntarget: {ssh: [a, b]}":        "f:4: target.ssh takes IPv6 by address: name them, as in [a=fd00::1, b=fd00::2], and leave ipv6 out",
		"hosts: 3\ntarget: {kube: {}}":                         "f:3: hosts 3: weir chooses two nodes; name more of them (nodes), or all",
		"episodes: 8\ntarget: {kube: {}}":                      "f:3: episodes 8: weir cannot rebuild a network that exists; leave episodes out",
		"underlay: {mtu: 1500}\ntarget: {kube: {}}":            "",
		"hosts: 3\ntarget: {kube: {nodes: all}}":               "",
		"pods: 2\nhosts: 1\ntarget: {kube: {nodes: [n1]}}":     "",
	} {
		_, err := Load([]byte(minimal+src+"\n"), "f")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", src, err, want)
		}
	}
}

func FuzzTarget(f *testing.F) {
	f.Add("{ssh: [a, b=10.0.0.2], ports: 1-2}")
	f.Add("{kube: {nodes: [n1, n2], keep: true}}")
	f.Add("{ssh: []}")
	f.Add("{kube: {tolerations: []}}")
	f.Fuzz(func(t *testing.T, target string) {
		s, err := Load([]byte(minimal+"target: "+target+"\n"), "f")
		if err == nil {
			checkRoundTrip(t, s)
		}
	})
}
