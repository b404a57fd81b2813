package kube

import (
	"errors"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/kube/fakekube"
	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/topo"
)

func waiting(reason, message string) map[string]fakekube.Object {
	return map[string]fakekube.Object{"pod-1-1": {"phase": "Pending", "containerStatuses": []fakekube.Object{
		{"state": fakekube.Object{"waiting": fakekube.Object{"reason": reason, "message": message}}}}}}
}

// Every error has the cluster's words and a remedy. Nothing stays in the cluster.
func TestErrors(t *testing.T) {
	const (
		image     = `ErrImagePull: failed to pull and unpack image "docker.io/x:1": not found`
		nodes     = `Error from server (Forbidden): nodes is forbidden: User "u" cannot list resource "nodes" in API group "" at the cluster scope`
		unbounded = "\x1b[2J"
	)
	for name, c := range map[string]struct {
		cluster func(*fakekube.State)
		target  func(*Target)
		usage   bool
		want    []string
	}{
		"context":                          {target: func(k *Target) { k.Context = "tset" }, usage: true, want: []string{`no context "tset": it has test`, "--context"}},
		"a context that looks like a flag": {target: func(k *Target) { k.Context = "--server=https://x" }, usage: true, want: []string{`no context "--server=https://x"`}},
		"namespace":                        {target: func(k *Target) { k.Namespace = "none" }, usage: true, want: []string{`no namespace "none"`, "create it, or correct -N"}},
		"node":                             {target: func(k *Target) { k.Nodes = []string{"node1", "node9"} }, usage: true, want: []string{`no node "node9": it has node1, node2; correct --nodes`}},
		"node twice":                       {target: func(k *Target) { k.Nodes = []string{"node1", "node1"} }, usage: true, want: []string{`node "node1" is named twice`}},
		"hostile names of nodes": {cluster: func(s *fakekube.State) { s.Nodes[0]["metadata"].(map[string]any)["name"] = "n\n" + unbounded }, target: func(k *Target) { k.Nodes = []string{"n1"} },
			usage: true, want: []string{`it has n \x1b[2J, node2`}},
		"no server": {cluster: func(s *fakekube.State) {
			s.Fail = []fakekube.Failure{{Call: "version -o", Said: "E1122 11:00:00.000001   12 memcache.go:265] \"Unhandled Error\"\nThe connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?"}}
		}, want: []string{"kubectl version: The connection to the server 10.0.0.1:6443 was refused", "kubectl cluster-info"}},
		"no login": {cluster: func(s *fakekube.State) {
			s.Fail = []fakekube.Failure{{Call: "version -o", Said: "error: You must be logged in to the server (Unauthorized)"}}
		}, want: []string{"logged in to the server", "; log in to the cluster again"}},
		"credential plugin": {cluster: func(s *fakekube.State) {
			s.Fail = []fakekube.Failure{{Call: "version -o", Said: "Unable to connect to the server: getting credentials: exec: executable aws failed with exit code 255"}}
		}, want: []string{"executable aws failed", "kubectl get pods must work"}},
		"no JSON": {cluster: func(s *fakekube.State) { s.Fail = []fakekube.Failure{{Call: "version -o", Printed: "<html>\n"}} }, want: []string{`kubectl version printed no valid JSON: invalid character '<'`, `; it begins with "<html>"; see what answers: kubectl `}},
		"nothing": {cluster: func(s *fakekube.State) { s.Fail = []fakekube.Failure{{Call: "get nodes", Printed: "\n"}} },
			want: []string{"kubectl get nodes printed no valid JSON: ", "; it printed nothing; see what answers: kubectl --context=test get nodes -o json"}},
		"no list": {cluster: func(s *fakekube.State) { s.Fail = []fakekube.Failure{{Call: "get nodes", Printed: "null"}} },
			want: []string{`kubectl get nodes printed no list of nodes; it begins with "null"`}},
		"no nodes": {cluster: func(s *fakekube.State) { s.Nodes = nil }, want: []string{"the cluster has no nodes; choose another cluster (--context)"}},
		"no version": {cluster: func(s *fakekube.State) { s.Fail = []fakekube.Failure{{Call: "version --client", Printed: "{}"}} },
			want: []string{`kubectl version printed no version; it begins with "{}"`}},
		"no context": {cluster: func(s *fakekube.State) {
			s.Fail = []fakekube.Failure{{Call: "current-context", Printed: "a\nb"}}
		}, target: func(k *Target) { k.Context = "" }, want: []string{`kubectl config current-context printed no name of a context; it begins with "a\nb"`}},
		"another object": {cluster: func(s *fakekube.State) {
			s.Fail = []fakekube.Failure{{Call: "get namespace", Printed: `{"metadata":{"name":"other"}}`}}
		}, want: []string{"kubectl get namespace printed no namespace called default; it begins with"}},
		"pods of another namespace": {cluster: func(s *fakekube.State) {
			s.Fail = []fakekube.Failure{{Call: "get pods", Printed: `{"items":[{"metadata":{"name":"p","namespace":"other"}}]}`}}
		}, want: []string{"kubectl get pods printed an object of the namespace other, although weir asked for those of default; it begins with"}},
		"made in another namespace": {cluster: func(s *fakekube.State) {
			s.Fail = []fakekube.Failure{{Call: "--dry-run=server", Printed: `{"kind":"Pod","metadata":{"name":"p","namespace":"other"}}`}}
		}, want: []string{"kubectl create printed an object of the namespace other", "see what answers: kubectl --context=test --namespace=default version"}},
		"a wall of text": {cluster: func(s *fakekube.State) {
			s.Fail = []fakekube.Failure{{Call: "get nodes", Said: strings.Repeat("no! ", 100_000)}}
		}, want: []string{"kubectl get nodes: no! no! ", "…; check that kubectl works: kubectl cluster-info"}},
		"nodes cannot be listed": {cluster: func(s *fakekube.State) { s.Fail = []fakekube.Failure{{Call: "get nodes", Said: nodes}} },
			want: []string{`cannot list resource "nodes"`, "name the nodes (--nodes n1,n2)"}},
		"no node is ready": {cluster: func(s *fakekube.State) {
			for i := range s.Nodes {
				s.Nodes[i]["status"] = fakekube.Object{"conditions": []fakekube.Object{{"type": "Ready", "status": "False", "message": "container runtime\nis down"}}}
			}
		}, want: []string{"no node of 2 can run pods (node1: not Ready: container runtime is down, node2", "--nodes"}},
		"the named node is not ready": {cluster: func(s *fakekube.State) { s.Nodes[0]["status"] = fakekube.Object{} }, target: func(k *Target) { k.Nodes = []string{"node1"} },
			want: []string{"node node1 cannot run pods: not Ready", "choose other nodes"}},
		"Windows": {cluster: func(s *fakekube.State) {
			s.Nodes[0]["status"] = fakekube.Object{"nodeInfo": fakekube.Object{"operatingSystem": "windows"}}
		}, target: func(k *Target) { k.Nodes = []string{"node1"} }, want: []string{"its system is windows"}},
		"too few nodes": {cluster: func(s *fakekube.State) { s.Nodes = append(s.Nodes, fakekube.Node("node3", "")) }, target: func(k *Target) { k.Nodes = []string{"node1", "node2"} },
			want: []string{"the study needs 3 hosts, and 2 of the cluster's nodes can be used", "--nodes"}},
		"permissions": {cluster: func(s *fakekube.State) { s.Denied = []string{"create jobs", "list services"} },
			want: []string{"forbids in namespace default: create jobs, list services; ask for a Role"}},
		"permission for namespaces": {cluster: func(s *fakekube.State) { s.Denied = []string{"create namespaces"} }, target: func(k *Target) { k.Namespace = "" },
			want: []string{"create namespaces", "choose a namespace where you have them (-N)"}},
		"the namespace goes": {cluster: func(s *fakekube.State) {
			s.Fail = []fakekube.Failure{{Call: "get namespace", Said: `Error from server (Forbidden): namespaces "default" is forbidden`}}
			delete(s.Namespaces, "default")
		}, want: []string{`namespaces "default" not found`}},
		"quota": {cluster: func(s *fakekube.State) {
			s.Fail = []fakekube.Failure{{Call: "--dry-run=server", Said: `Error from server (Forbidden): error when creating "STDIN": pods "weir" is forbidden: exceeded quota: q, requested: pods=1, used: pods=9, limited: pods=9`}}
		}, want: []string{`pods "weir" is forbidden: exceeded quota: q`, "; free some of the quota"}},
		"admission webhook": {cluster: func(s *fakekube.State) {
			s.Fail = []fakekube.Failure{{Call: "--dry-run=server", Said: `Error from server: error when creating "STDIN": admission webhook "validate.kyverno.svc" denied the request: images must come from registry.example`}}
		}, want: []string{`admission webhook "validate.kyverno.svc" denied the request`, "; a policy of the cluster"}},
		"a new namespace's service account": {cluster: func(s *fakekube.State) {
			s.Fail = []fakekube.Failure{{Call: "--dry-run=server", Said: `Error from server (Forbidden): error when creating "STDIN": pods "weir" is forbidden: error looking up service account default/default: serviceaccount "default" not found`, Times: 1}}
		}, target: func(k *Target) { k.Namespace = "" }},
		"image": {cluster: func(s *fakekube.State) {
			s.Status = waiting("ImagePullBackOff", `Back-off pulling image "x:1": `+image)
		}, want: []string{"pod 1 on node node1 does not start", image, "; choose an image that the node can pull"}},
		"invalid image": {cluster: func(s *fakekube.State) { s.Status = waiting("InvalidImageName", `couldn't parse "X"`) }, want: []string{`InvalidImageName: couldn't parse "X"`, "--image"}},
		"unschedulable": {cluster: func(s *fakekube.State) {
			s.Status = map[string]fakekube.Object{"pod-2-1": {"phase": "Pending", "conditions": []fakekube.Object{{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
				"message": "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]."}}}}
		}, want: []string{"pod 1 on node node2 does not start: Unschedulable: 0/2 nodes are available: 1 Insufficient cpu", "; choose other nodes (--nodes), or free"}},
		"taint of a node that was not listed": {cluster: func(s *fakekube.State) {
			s.Fail = []fakekube.Failure{{Call: "get nodes", Said: nodes}}
			s.Status = map[string]fakekube.Object{"pod-1-1": {"phase": "Pending", "conditions": []fakekube.Object{{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
				"message": "0/1 nodes are available: 1 node(s) had untolerated taint {dedicated: db}."}}}}
		}, target: func(k *Target) { k.Nodes = []string{"node1", "node2"} }, want: []string{"untolerated taint {dedicated: db}", "; choose other nodes"}},
		"no pods": {cluster: func(s *fakekube.State) { s.NoPods = true }, target: func(k *Target) { k.ready = 1 },
			want: []string{"pods do not run after", "pod 1 on node node1: its Job has no pod", "kubectl describe"}},
		"refused by the Job's controller": {cluster: func(s *fakekube.State) {
			s.NoPods, s.Events = true, map[string]string{"weir-fixed-pod-2-1": "pods \"x\" is forbidden: exceeded quota: q"}
		},
			target: func(k *Target) { k.run = "fixed" }, want: []string{"pod 1 on node node2 does not start: FailedCreate: pods \"x\" is forbidden: exceeded quota: q; free some"}},
		"pending": {cluster: func(s *fakekube.State) { s.Status = map[string]fakekube.Object{"pod-1-1": {"phase": "Pending"}} }, target: func(k *Target) { k.ready = 1 },
			want: []string{"pods do not run after 1ns (pod 1 on node node1: phase Pending); kubectl describe"}},
		"attach": {cluster: func(s *fakekube.State) {
			s.Fail = []fakekube.Failure{{Call: "attach", Said: `Error from server (Forbidden): pods "x" is forbidden: User "u" cannot create resource "pods/attach"`}}
		}, want: []string{`cannot create resource "pods/attach"`, "docs/kubernetes.md"}},
		"an image without weir": {target: func(k *Target) { k.Image, k.Shell = "", "no-such" }, cluster: func(s *fakekube.State) {
			s.Fail = []fakekube.Failure{{Call: "attach", Said: `error: unable to upgrade connection: container weir not found in pod`}}
		}, want: []string{"container weir not found"}},
		"another architecture": {target: func(k *Target) {
			k.Image, k.Programs = "", remote.Programs{Files: map[string]string{"x86_64": "/no/such/weir", "aarch64": "/no/such/weir"}}
		}, want: []string{"/no/such/weir"}},
		"translated address": {cluster: func(s *fakekube.State) { s.IP = "192.0.2.7" }, want: []string{"the address 192.0.2.7 is on none of its devices (lo 127.0.0.1/8", "something translates it"}},
		"IPv6":               {target: func(k *Target) { k.Wants = nil }, cluster: func(s *fakekube.State) { s.IP = "::1" }, want: []string{"has no IPv4 address, but [::1]", "pods-ipv6: true"}},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "attach" || name == "an image without weir") {
				t.Skip("slow: run without -short")
			}
			k, f := cluster(t)
			f.Set(t, func(s *fakekube.State) {
				if c.cluster != nil {
					c.cluster(s)
				}
			})
			if c.target != nil {
				c.target(k)
			}
			want := wants(t, 2, topo.PodNet)[0]
			if name == "too few nodes" {
				want = wants(t, 3, topo.PodNet)[0]
			}
			_, err := k.Open(t.Context(), want, "")
			if (err == nil) != (c.want == nil) {
				t.Fatalf("error %v", err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %v\nlacks %s", err, part)
				}
			}
			var usage *UsageError
			if errors.As(err, &usage) != c.usage {
				t.Errorf("%v: usage %v", err, !c.usage)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\x1b\r\n") {
				t.Errorf("error %q is not one printable line", err)
			}
			if err := k.Close(); err != nil {
				t.Error(err)
			}
			if s := f.State(t); len(s.Objects) > 0 || len(s.Namespaces) > 1 {
				t.Errorf("left: %v in %v", s.Objects, s.Namespaces)
			}
		})
	}
}

func TestNoKubectl(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	k := &Target{Kube: study.Kube{}}
	if err := k.Connect(t.Context()); err == nil || err.Error() != "kubectl: not found in PATH; install it, or add its directory to PATH" {
		t.Errorf("error %v", err)
	}
	if fs := k.Check(t.Context()); len(fs) != 1 || fs[0].OK || fs[0].Fix != "install it, or add its directory to PATH" {
		t.Errorf("%+v", fs)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}

// The device of via must exist and have an address.
func TestVia(t *testing.T) {
	k, _ := cluster(t)
	for dev, want := range map[string]string{"lo": "", "wg0": "node node1 has no device wg0, but lo 127.0.0.1/8"} {
		via := wants(t, 2, topo.Via)[0]
		via.Find.Dev = dev
		site, err := k.Open(t.Context(), via, "")
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: error %v, want %s", dev, err, want)
		case want == "" && (err != nil || site.Topology.Hosts[1].Dev != "lo" || len(site.Nodes) != 2):
			t.Errorf("%s: %+v, %v", dev, site, err)
		}
	}
}
