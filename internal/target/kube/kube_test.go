package kube

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/kube/fakekube"
	"github.com/weir-bench/weir/internal/topo"
)

// wants returns the topologies of networks between hosts with a pod each.
func wants(t testing.TB, hosts int, kinds ...topo.Kind) (all []topo.Topology) {
	t.Helper()
	for _, k := range kinds {
		w, err := topo.New(topo.Spec{Hosts: hosts, Find: topo.Find{Kind: k}})
		if err != nil {
			t.Fatal(err)
		}
		w.Exists, w.Segments = true, nil
		all = append(all, w)
	}
	return all
}

// cluster returns a target in a fake cluster. The end of the test closes it.
func cluster(t testing.TB) (*Target, fakekube.Cluster) {
	t.Helper()
	c := fakekube.Start(t)
	target := &Target{Kube: study.Kube{Context: "test", Namespace: "default", Image: "weir:test"}, ready: 30 * time.Second, podSoon: time.Millisecond}
	t.Cleanup(func() {
		if err := target.Close(); err != nil {
			t.Error(err)
		}
	})
	return target, c
}

func open(t testing.TB, of *Target, want topo.Topology) *target.Site {
	t.Helper()
	site, err := of.Open(t.Context(), want, "")
	if err != nil {
		t.Fatal(err)
	}
	return site
}

// hears collects warnings.
func hears(t *Target) *[]string {
	var all []string
	t.Warn = func(s string) { all = append(all, s) }
	return &all
}

func sh(t testing.TB, n target.Node, script string) string {
	t.Helper()
	var out bytes.Buffer
	if err := n.Run(t.Context(), target.Cmd{Argv: []string{"sh", "-c", script}, Stdout: &out}); err != nil {
		t.Error(err)
	}
	return out.String()
}

func TestNetworks(t *testing.T) {
	k, c := cluster(t)
	k.Namespace = ""
	c.Set(t, func(s *fakekube.State) {
		s.Warning = "Warning: would violate nothing\x1b[1m"
		s.DaemonSets, s.Proxy = []string{"docker.io/flannel/flannel:v0.28.4"}, "apiVersion: v1\nkind: KubeProxyConfiguration\nmode: \"nftables\"\n"
		s.Nodes = []fakekube.Object{fakekube.Node("node2", "b"), fakekube.Node("node3", "a"), fakekube.Node("node1", "a")}
	})
	k.Wants = wants(t, 2, topo.Hosts, topo.PodNet, topo.Service, topo.NodePort)
	said := hears(k)
	if err := k.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if made := c.State(t).Objects; len(made) > 0 || len(c.State(t).Namespaces) != 1 {
		t.Errorf("Connect made %v", made)
	}
	if ms := k.Machines(); len(ms) != 2 || ms[0].Name != "node1" || ms[1].Name != "node2" || ms[1].Zone != "b" {
		t.Errorf("machines %+v", ms)
	}
	nodes := map[string]target.Node{}
	for _, want := range k.Wants {
		site := open(t, k, want)
		kind, top := want.Find.Kind, site.Topology
		if !top.Exists || top.Find != want.Find || top.MTU < 1280 || len(top.Hosts) != 2 || top.Hosts[1].Name != "node2" || top.Hosts[0].Zone != "a" || top.Hosts[1].Zone != "b" || site.Private || site.Token == "" {
			t.Errorf("%q: %+v", kind, top)
		}
		pods := 0
		for _, h := range top.Hosts {
			if h.Dev != "lo" || h.Addr.String() != "127.0.0.1/8" {
				t.Errorf("%q: host %+v", kind, h)
			}
			for _, p := range h.Pods {
				pods++
				if p.Name != h.Name+"-p1" || p.Dev != "lo" || p.Addr.String() != "127.0.0.1/8" || p.Call.IsValid() != (kind != topo.PodNet) {
					t.Errorf("%q: pod %+v", kind, p)
				}
				if (kind == topo.NodePort) != (p.Ports[5201] == 35201) {
					t.Errorf("%q: ports %v", kind, p.Ports)
				}
			}
		}
		if (pods == 2) != inPods(kind) {
			t.Errorf("%q has %d pods", kind, pods)
		}
		ports := DefaultPorts
		if kind == topo.Service || kind == topo.NodePort {
			ports.Last = 5208
		}
		if site.Ports != ports {
			t.Errorf("%q: ports %v", kind, site.Ports)
		}
		wantFound := map[string]string{foundVersion: "v1.33.13", foundProxy: "nftables", foundCNI: "Flannel (image docker.io/flannel/flannel:v0.28.4)",
			foundRuntime: "containerd://1.6.20", foundZones: "node1: a, node2: b"}
		if !maps.Equal(site.Found, wantFound) {
			t.Errorf("found %v", site.Found)
		}
		for name, n := range site.Nodes {
			if had := nodes[name]; had != nil && had != n {
				t.Errorf("%s is another node", name)
			}
			nodes[name] = n
			if got := n.Host().Name; got != strings.TrimSuffix(name, "-p1") {
				t.Errorf("the host of %s is called %q", name, got)
			}
		}
		if err := site.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := sh(t, nodes["node2-p1"], "echo here"); got != "here\n" || len(nodes) != 4 {
		t.Errorf("%q from %d nodes", got, len(nodes))
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	s := c.State(t)
	if len(s.Objects) > 0 || len(s.Namespaces) != 1 {
		t.Errorf("left: %v in %v", slices.Sorted(maps.Keys(s.Objects)), s.Namespaces)
	}
	for _, call := range s.Calls {
		if !strings.HasPrefix(call, "--context=test ") && !strings.HasPrefix(call, "version --client") && !strings.HasPrefix(call, "config ") {
			t.Errorf("kubectl %s: without the context", call)
		}
	}
	if len(*said) > 0 {
		t.Errorf("warnings %q", *said)
	}
}

// Without an image, weir gets into a pod through its shell.
func TestShell(t *testing.T) {
	k, _ := cluster(t)
	k.Image = ""
	site := open(t, k, wants(t, 1, topo.PodNet)[0])
	if got := sh(t, site.Nodes["node1-p1"], "echo here"); got != "here\n" {
		t.Errorf("%q", got)
	}
}

// With one node, both pods are there, and weir says so.
func TestOneNode(t *testing.T) {
	k, c := cluster(t)
	c.Set(t, func(s *fakekube.State) { s.Nodes = s.Nodes[:1] })
	said := hears(k)
	site := open(t, k, wants(t, 2, topo.PodNet)[0])
	if hs := site.Topology.Hosts; len(hs) != 1 || len(hs[0].Pods) != 2 || hs[0].Pods[1].Name != "node1-p2" || hs[0].Addr.IsValid() {
		t.Errorf("hosts %+v", hs)
	}
	if len(*said) != 1 || !strings.Contains((*said)[0], "node1 is the only one") {
		t.Errorf("warnings %q", *said)
	}
	if _, err := k.Open(t.Context(), wants(t, 2, topo.Hosts)[0], ""); err == nil || !strings.Contains(err.Error(), "needs 2 hosts") {
		t.Errorf("a network of hosts: %v", err)
	}
}

// A namespace that forbids pods in the hosts' networks costs the baseline alone.
func TestNoBaseline(t *testing.T) {
	for _, level := range []string{"baseline", "restricted"} {
		k, c := cluster(t)
		k.Wants = wants(t, 2, topo.Hosts, topo.PodNet)
		c.Set(t, func(s *fakekube.State) { s.Namespaces["default"]["pod-security.kubernetes.io/enforce"] = level })
		said := hears(k)
		for _, want := range k.Wants {
			site, err := k.Open(t.Context(), want, "")
			switch {
			case want.Find.Kind == topo.PodNet && (err != nil || len(site.Nodes) != 2 || site.Topology.Hosts[0].Addr.IsValid()):
				t.Errorf("pods: %+v, %v", site, err)
			case want.Find.Kind == topo.Hosts && (err == nil || !strings.Contains(err.Error(), "no baseline") || !strings.Contains(err.Error(), `violates PodSecurity "`+level)):
				t.Errorf("hosts: %v", err)
			}
		}
		if all := strings.Join(*said, "\n"); !strings.Contains(all, labelEnforce+"="+level) || !strings.Contains(all, "the namespace default") {
			t.Errorf("warnings: %s", all)
		}
	}
}

// The reason why a pod dies is the reason why its programs fail, and the next Open starts another one.
func TestPodDies(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for want, change := range map[string]func(s *fakekube.State, key string){
		"node1: OOMKilled, exit status 137": func(s *fakekube.State, key string) {
			s.Objects[key]["status"] = fakekube.Object{"phase": "Failed", "containerStatuses": []fakekube.Object{{"state": fakekube.Object{"terminated": fakekube.Object{"reason": "OOMKilled", "exitCode": 137}}}}}
		},
		"node1: Evicted: The node was low on resource: memory.": func(s *fakekube.State, key string) {
			s.Objects[key]["status"] = fakekube.Object{"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource:\n memory."}
		},
		"node1 was deleted":     func(s *fakekube.State, key string) { delete(s.Objects, key) },
		"node1 still runs, but": func(*fakekube.State, string) {},
		"node1 was deleted (DeadlineExceeded: Job was active": func(s *fakekube.State, key string) {
			delete(s.Objects, key)
			s.Objects["Job/"+strings.TrimSuffix(strings.TrimPrefix(key, "Pod/"), "-x")]["status"] = fakekube.Object{
				"conditions": []fakekube.Object{{"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "Job was active too long"}}}
		},
	} {
		t.Run(want, func(t *testing.T) {
			k, c := cluster(t)
			pods := wants(t, 2, topo.Service)[0]
			site := open(t, k, pods)
			dead := k.seats["pod-1-1"].pod
			said := listener{"ready", func() {
				c.Set(t, func(s *fakekube.State) { change(s, "Pod/"+dead) })
				if err := syscall.Kill(c.Attached(t, dead), syscall.SIGKILL); err != nil {
					t.Error(err)
				}
			}}
			err := site.Nodes["node1-p1"].Run(t.Context(), target.Cmd{Argv: []string{"sh", "-c", "echo ready; exec sleep 1000"}, Stdout: &said})
			if !errors.Is(err, target.ErrLost) || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %s", err, want)
			}
			again := open(t, k, pods)
			if got := sh(t, again.Nodes["node1-p1"], "echo again"); got != "again\n" {
				t.Errorf("the new pod says %q", got)
			}
			if again.Nodes["node2-p1"] != site.Nodes["node2-p1"] || again.Nodes["node1-p1"] == site.Nodes["node1-p1"] {
				t.Error("the wrong pod was replaced")
			}
			if job := k.seats["pod-1-1"].job; !strings.HasSuffix(job, "-pod-1-1-r1") {
				t.Errorf("the second Job is called %s", job)
			}
		})
	}
}

// A listener calls heard when a word is written.
type listener struct {
	word  string
	heard func()
}

func (l *listener) Write(b []byte) (int, error) {
	if strings.Contains(string(b), l.word) {
		l.heard()
	}
	return len(b), nil
}

// A run that is canceled while pods start leaves nothing.
func TestCancel(t *testing.T) {
	k, c := cluster(t)
	k.Namespace = ""
	c.Set(t, func(s *fakekube.State) {
		s.Status = map[string]fakekube.Object{"pod-2-1": {"phase": "Pending"}}
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	go func() {
		for !slices.ContainsFunc(c.State(t).Calls, func(call string) bool { return strings.Contains(call, "attach") }) {
			time.Sleep(time.Millisecond)
		}
		cancel(enough)
	}()
	if _, err := k.Open(ctx, wants(t, 2, topo.PodNet)[0], ""); !errors.Is(err, enough) {
		t.Errorf("error %v", err)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	if s := c.State(t); len(s.Objects) > 0 || len(s.Namespaces) != 1 {
		t.Errorf("left: %v in %v", s.Objects, s.Namespaces)
	}
}

// What stays, stays, and weir says how to remove it.
func TestKeep(t *testing.T) {
	k, c := cluster(t)
	k.Keep = true
	said := hears(k)
	open(t, k, wants(t, 2, topo.Service)[0])
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	if n := len(c.State(t).Objects); n != 6 {
		t.Errorf("%d objects stay, want 2 Jobs, 2 pods and 2 Services", n)
	}
	want := "stay in the namespace default; to remove them: kubectl --context=test --namespace=default delete jobs,services -l app.kubernetes.io/managed-by=weir,app.kubernetes.io/instance=" + k.run
	if len(*said) != 1 || !strings.HasSuffix((*said)[0], want) {
		t.Errorf("warnings %q", *said)
	}
}

// A clean-up that fails says what to do by hand.
func TestCleanUpFails(t *testing.T) {
	k, c := cluster(t)
	open(t, k, wants(t, 2, topo.PodNet)[0])
	c.Set(t, func(s *fakekube.State) {
		s.Fail = []fakekube.Failure{{Call: "delete", Said: `Error from server (Forbidden): jobs.batch is forbidden`, Times: 1}}
	})
	err := k.Close()
	if err == nil || !strings.Contains(err.Error(), "jobs.batch is forbidden") || !strings.Contains(err.Error(), "kubectl --context=test --namespace=default delete jobs,services -l ") {
		t.Errorf("error %v", err)
	}
}
