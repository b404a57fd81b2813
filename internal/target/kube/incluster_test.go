package kube

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/kube/fakekube"
	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/topo"
)

// launch launches a run of networks of these kinds on two nodes.
func launch(t *testing.T, k *Target, kinds ...topo.Kind) (job string, err error) {
	t.Helper()
	k.InCluster, k.Wants = true, wants(t, 2, kinds...)
	return k.Launch(t.Context(), Order{Study: []byte("a study"), Takes: time.Hour})
}

// orderOf returns the files of the Secret of a run.
func orderOf(t *testing.T, c fakekube.Cluster, job string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	data, _ := c.State(t).Objects["Secret/"+job]["data"].(map[string]any)
	for name, text := range data {
		b, err := base64.StdEncoding.DecodeString(text.(string))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: b}
	}
	return files
}

// A launch makes a coordinator that owns everything else, and says nothing secret on a command line. It
// stays unless it is the target's own.
func TestLaunch(t *testing.T) {
	k, c := cluster(t)
	job, err := launch(t, k, topo.Hosts, topo.PodNet, topo.Service)
	if err != nil {
		t.Fatal(err)
	}
	order, s := orderOf(t, c, job), c.State(t)
	if string(order[studyFile].Data) != "a study" || len(order[tokenFile].Data) < 26 {
		t.Errorf("the order is %v", order)
	}
	for _, call := range s.Calls {
		if strings.Contains(call, string(order[tokenFile].Data)) {
			t.Errorf("the token is in kubectl %s", call)
		}
	}
	owned := 0
	for key, o := range s.Objects {
		kind, name, _ := strings.Cut(key, "/")
		if kind == "Pod" || name == job && kind == "Job" {
			continue
		}
		owners := fmt.Sprint(o["metadata"].(map[string]any)["ownerReferences"])
		if !strings.Contains(owners, "uid-of-"+job) {
			t.Errorf("%s has the owners %s", key, owners)
		}
		owned++
	}
	if owned != 2+2+1 {
		t.Errorf("%d objects, want two Jobs, two Services and a Secret: %v", owned, slices.Sorted(maps.Keys(s.Objects)))
	}
	k.Own(false)
	if err := k.Close(); err != nil || len(c.State(t).Objects) != len(s.Objects) {
		t.Errorf("%v; the run of a coordinator was removed", err)
	}

	later := &Target{Kube: k.Kube}
	if err := later.Adopt(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	n, _, err := later.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := sh(t, n, "echo here"); got != "here\n" {
		t.Errorf("the view says %q", got)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if command := later.RemoveCommand(); !strings.Contains(command, labelRun+"="+strings.TrimPrefix(job, "weir-")) {
		t.Errorf("to remove it: %s", command)
	}
	later.Own(true)
	if err := later.Close(); err != nil || len(c.State(t).Objects) > 0 {
		t.Errorf("%v; left %v", err, c.State(t).Objects)
	}
	if _, _, err := later.View(t.Context()); !errors.Is(err, ErrEnded) {
		t.Errorf("a view of nothing: %v", err)
	}
}

// Only a namespace that weir made for a run is taken for it: the end of a look deletes it.
func TestAdopt(t *testing.T) {
	k, c := cluster(t)
	c.Set(t, func(s *fakekube.State) {
		s.Namespaces["weir-system"], s.Namespaces["weir-x"] = map[string]string{}, map[string]string{labelManager: "weir", labelRun: "x"}
	})
	k.Namespace = ""
	var usage *UsageError
	for _, job := range []string{"", "weir-", "x", "weir-a,b", "weir-system", "weir-none"} {
		if err := k.Adopt(t.Context(), job); !errors.As(err, &usage) {
			t.Errorf("%q: %v", job, err)
		}
	}
	if err := k.Adopt(t.Context(), "weir-x"); err != nil {
		t.Error(err)
	}
}

// What keeps agents or the coordinator from running is told in the cluster's words.
func TestLaunchErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	pulling := fakekube.Object{"phase": "Pending", "containerStatuses": []fakekube.Object{{"state": fakekube.Object{"waiting": fakekube.Object{"reason": "ErrImageNeverPull", "message": "no image"}}}}}
	crowded := fakekube.Object{"phase": "Pending", "conditions": []fakekube.Object{{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes are available: 2 Insufficient cpu."}}}
	for name, c := range map[string]struct {
		cluster func(*fakekube.State)
		target  func(*Target)
		want    []string
	}{
		"coordinator": {cluster: func(s *fakekube.State) { s.Status = map[string]fakekube.Object{coordination: pulling} },
			want: []string{"the coordinator does not start: ErrImageNeverPull: no image; load the image on the node"}},
		"agents": {cluster: func(s *fakekube.State) { s.Status = map[string]fakekube.Object{"pods-1": crowded} }, target: func(k *Target) { k.Nodes = []string{"node1", "node2"} },
			want: []string{"an agent does not start: weir-fixed-pods-1-0-x: Unschedulable: 0/2 nodes are available: 2 Insufficient cpu., weir-fixed-pods-1-1-x: ", "; choose other nodes"}},
		"late": {cluster: func(s *fakekube.State) { s.Status = map[string]fakekube.Object{"pods-1": {"phase": "Pending"}} }, target: func(k *Target) { k.ready = 1 },
			want: []string{"2 of 2 agents do not run after 1ns (weir-fixed-pods-1-0-x: phase Pending"}},
		"secret": {cluster: func(s *fakekube.State) { s.Denied = []string{"create secrets", "create pods/exec"} },
			want: []string{"forbids in namespace default: create pods/exec, create secrets"}},
	} {
		t.Run(name, func(t *testing.T) {
			k, f := cluster(t)
			k.run = "fixed"
			f.Set(t, c.cluster)
			if c.target != nil {
				c.target(k)
			}
			_, err := launch(t, k, topo.PodNet)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v\nlacks %s", err, want)
				}
			}
			if err := k.Close(); err != nil || len(f.State(t).Objects) > 0 {
				t.Errorf("%v; left %v", err, f.State(t).Objects)
			}
		})
	}
}

// A namespace that forbids pods in the hosts' network costs the baseline, in a cluster as from outside.
func TestLaunchRestricted(t *testing.T) {
	k, c := cluster(t)
	c.Set(t, func(s *fakekube.State) { s.Namespaces["default"]["pod-security.kubernetes.io/enforce"] = "restricted" })
	job, err := launch(t, k, topo.Hosts, topo.PodNet)
	if err != nil {
		t.Fatal(err)
	}
	lead, _ := coordinator(t, orderOf(t, c, job))
	if _, err := lead.Open(canceled(), wants(t, 2, topo.Hosts)[0], ""); err == nil {
		t.Error("opened without agents")
	}
	if _, err := lead.Open(t.Context(), wants(t, 2, topo.Hosts)[0], ""); err == nil || !strings.Contains(err.Error(), "no baseline") {
		t.Errorf("the network of hosts: %v", err)
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// coordinator returns the coordinator of an order, and where it listens.
func coordinator(t *testing.T, order fstest.MapFS) (*Coordinator, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, what, err := NewCoordinator(order, l)
	if err != nil || string(what) != "a study" {
		t.Fatalf("%q, %v", what, err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, l.Addr().String()
}

// Agents that join in any order take their seats, with the Services that their index has. One that is lost
// can come again.
func TestCoordinator(t *testing.T) {
	k, f := cluster(t)
	f.Set(t, func(s *fakekube.State) {
		s.Nodes = []fakekube.Object{fakekube.Node("node1", "a"), fakekube.Node("node2", "b")}
		s.DaemonSets = []string{"docker.io/flannel/flannel:v0.28.4"}
	})
	job, err := launch(t, k, topo.Hosts, topo.PodNet, topo.Service, topo.NodePort)
	if err != nil {
		t.Fatal(err)
	}
	order := orderOf(t, f, job)
	c, addr := coordinator(t, order)
	said := hears(c.Target)
	ended := make(chan error, 9)
	join := func(group, node string, index int) {
		go func() {
			ended <- remote.Join(t.Context(), addr, string(order[tokenFile].Data), Placement{group, index, node, "pod-of-" + node, []string{"127.0.0.1"}, []string{"127.0.0.1"}})
		}()
	}
	for _, group := range []string{"pods-1", "hosts"} {
		join(group, "node2", 0)
		join(group, "node1", 1)
	}
	if err := c.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	var site *target.Site
	for _, want := range wants(t, 2, topo.Hosts, topo.PodNet, topo.Service, topo.NodePort) {
		if site, err = c.Open(t.Context(), want, ""); err != nil {
			t.Fatal(err)
		}
		hosts := site.Topology.Hosts
		if len(hosts) != 2 || hosts[0].Name != "node1" || hosts[1].Zone != "b" || site.Token == "" || site.Ports.First != 5201 || site.Found[foundVersion] != "v1.33.13" || !strings.HasPrefix(site.Found[foundCNI], "Flannel") {
			t.Errorf("%s: %+v, found %v", want.Find.Kind, hosts, site.Found)
		}
		switch want.Find.Kind {
		case topo.Hosts:
			if hosts[0].Addr.String() != "127.0.0.1/8" {
				t.Errorf("host %+v", hosts[0])
			}
		case topo.NodePort:
			if p := hosts[1].Pods[0]; p.Ports[5201] != 35201 || p.Name != "node2-p1" {
				t.Errorf("pod %+v", p)
			}
		default:
			if p := hosts[1].Pods[0]; p.Call.IsValid() != (want.Find.Kind == topo.Service) {
				t.Errorf("%s: pod %+v", want.Find.Kind, p)
			}
		}
	}
	if got := sh(t, site.Nodes["node2-p1"], "echo here"); got != "here\n" {
		t.Errorf("%q", got)
	}

	lost := c.seats["pod-2-1"].agent.node
	if err := lost.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the lost agent: %v", err)
	}
	for lost.Lost() == nil { // its reader notices a moment later
		time.Sleep(time.Millisecond)
	}
	join("pods-1", "node2", 0)
	if site, err = c.Open(t.Context(), wants(t, 2, topo.PodNet)[0], ""); err != nil {
		t.Fatal(err)
	}
	if n := site.Nodes["node2-p1"]; n == lost || sh(t, n, "echo again") != "again\n" {
		t.Error("the new agent does not work")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for range 4 {
		if err := <-ended; err != nil {
			t.Errorf("an agent ended with %v", err)
		}
	}
	if len(*said) > 0 {
		t.Errorf("warnings %q", *said)
	}
}

// Agents that do not come are told by name. They cost the run unless all nodes were asked for.
func TestMissingAgents(t *testing.T) {
	k, f := cluster(t)
	job, err := launch(t, k, topo.PodNet)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := coordinator(t, orderOf(t, f, job))
	said := hears(c.Target)
	c.here["pod-1-1"] = &seat{at: c.machines[0], n: 1}
	missing := c.missing()
	err = c.leaveOut(missing)
	for _, want := range []string{"1 of 2 agents have not joined the coordinator (pod 1 on node node2)", "a NetworkPolicy must let TCP from weir's agents through to port 5200", "kubectl get pods -n default -l "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %s", err, want)
		}
	}
	c.roster.All, c.shut = true, errors.New("a stranger")
	if err := c.leaveOut(missing); err != nil || len(c.Machines()) != 1 || len(*said) != 1 || !strings.Contains((*said)[0], "a stranger; their nodes are left out") {
		t.Errorf("%v; %d machines, warnings %q", err, len(c.Machines()), *said)
	}
	c.here = map[string]*seat{}
	if err := c.leaveOut(c.missing()); err == nil {
		t.Error("a run without agents")
	}
	for _, place := range []string{"", "{}", `{"group":"pods-1","node":"node9"}`, `{"group":"pods-9","node":"node1"}`} {
		if s, _, err := c.seatFor([]byte(place)); err == nil {
			t.Errorf("%s has the seat %v", place, s)
		}
	}
}

// The environment of a pod tells its agent's place.
func TestPlaceOf(t *testing.T) {
	env := map[string]string{"WEIR_GROUP": "pods-1", "JOB_COMPLETION_INDEX": "7", "WEIR_NODE": "n", "WEIR_POD": "p", "WEIR_POD_IPS": "10.0.0.1,fd00::1", "WEIR_HOST_IP": "192.0.2.1"}
	p, err := PlacementOf(func(name string) string { return env[name] })
	if err != nil || p.Index != 7 || !slices.Equal(p.Addrs, []string{"10.0.0.1", "fd00::1"}) || p.Node != "n" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := PlacementOf(func(string) string { return "" }); err == nil {
		t.Error("a place outside of a pod")
	}
}
