package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/target/kube/fakekube"
	"github.com/weir-bench/weir/record"
)

// inCluster runs weir with a kubectl whose cluster's pods are processes of this machine.
func inCluster(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	p := start(t, nil, args...)
	status = p.status(t)
	return p.stdout.String(), p.stderr.String(), status
}

// A run in a cluster stores the nodes that weir has chosen, and continues on these.
func TestRunInACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	c := fakekube.Start(t)
	dir := filepath.Join(t.TempDir(), "out")
	_, stderr, status := inCluster(t, "run", "--kube", "-N", "default", "-n", "pod", "-p", "tcp-rr", "--blocks", "2", "--duration", "50ms", "--warmup", "0", "--keep-disturbed", "-o", dir)
	if status != 0 {
		t.Fatalf("status %d\n%s", status, stderr)
	}
	for _, r := range results(t, dir) {
		if r.Status != record.OK {
			t.Errorf("%s: %s %s", r.Trial, r.Status, r.Reason)
		}
	}
	s, err := os.ReadFile(filepath.Join(dir, "study.yaml"))
	if err != nil || !strings.Contains(string(s), "target: {kube: {namespace: default, nodes: [node1, node2]}}\n") {
		t.Errorf("%v\n%s", err, s)
	}
	if _, stderr, status := inCluster(t, "run", "--resume", dir); status != 0 {
		t.Errorf("resumed: status %d\n%s", status, stderr)
	}
	c.Set(t, func(s *fakekube.State) { s.Nodes = s.Nodes[:1] })
	if _, stderr, status := inCluster(t, "run", "--resume", dir); status != 2 || !strings.Contains(stderr, `no node "node2"`) {
		t.Errorf("without node2: status %d\n%s", status, stderr)
	}
}

// Where the cluster admits no pod to the hosts' network, the run goes on with another baseline, and
// says so with its status.
func TestRunWithoutTheBaseline(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	c := fakekube.Start(t)
	c.Set(t, func(s *fakekube.State) {
		s.Namespaces["default"]["pod-security.kubernetes.io/enforce"] = "restricted"
	})
	dir := filepath.Join(t.TempDir(), "out")
	stdout, stderr, status := inCluster(t, "run", "--kube", "-N", "default", "-n", "host,pod,service", "-p", "tcp-rr", "--blocks", "1", "--duration", "50ms", "--warmup", "0", "--keep-disturbed", "-o", dir)
	if status != 3 || !strings.Contains(stderr, "host cannot be measured, so the baseline is pod") {
		t.Errorf("status %d\n%s\n%s", status, stderr, stdout)
	}
	s, err := os.ReadFile(filepath.Join(dir, "study.yaml"))
	if err != nil || !strings.Contains(string(s), "\nbaseline: pod\n") {
		t.Errorf("%v\n%s", err, s)
	}
}

// Pods may count packets and nothing else.
func TestTraceInACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	fakekube.Start(t)
	stdout, stderr, status := inCluster(t, "trace", "--kube", "-N", "default", "-n", "pod", "--by", "counters")
	if status != 0 || !strings.Contains(stdout, "by device counters") || !strings.Contains(stdout, "Missing: counters show how many packets the devices moved, others' included") {
		t.Errorf("status %d\n%s\n%s", status, stderr, stdout)
	}
}

// On one node, weir measures between two pods.
func TestRunOnOneNode(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	fakekube.Start(t)
	dir := filepath.Join(t.TempDir(), "out")
	_, stderr, status := inCluster(t, "run", "--kube", "-N", "default", "--nodes", "node1", "-n", "pod", "--pods", "2", "-f", "ends=pod1-pod2", "-p", "tcp-rr", "--blocks", "1", "--duration", "50ms", "--warmup", "0", "--keep-disturbed", "-o", dir)
	if rs := results(t, dir); status != 0 || len(rs) != 1 || rs[0].Status != record.OK {
		t.Errorf("status %d, %+v\n%s", status, rs, stderr)
	}
}

// Unknown names are mistakes of the user; everything else is the environment.
func TestClusterRefuses(t *testing.T) {
	for _, c := range []struct {
		args   string
		status int
		says   string
		state  func(*fakekube.State)
	}{
		{"--context nowhere", 2, `no context "nowhere"`, nil},
		{"-N nowhere", 2, `no namespace "nowhere"`, nil},
		{"--nodes node1,node9", 2, `no node "node9"`, nil},
		{"-N default", 3, "create jobs", func(s *fakekube.State) { s.Denied = []string{"create jobs"} }},
		{"-N default -n host", 2, "host: needs two ends, and the target has 1", func(s *fakekube.State) { s.Nodes = s.Nodes[:1] }},
		{"-N default", 3, "the cluster has no nodes", func(s *fakekube.State) { s.Nodes = nil }},
	} {
		t.Run(c.args, func(t *testing.T) {
			cluster := fakekube.Start(t)
			if c.state != nil {
				cluster.Set(t, c.state)
			}
			dir := filepath.Join(t.TempDir(), "out")
			_, stderr, status := inCluster(t, append(append([]string{"run", "--kube"}, strings.Fields(c.args)...), "-o", dir)...)
			if status != c.status || !strings.Contains(stderr, c.says) {
				t.Errorf("status %d, want %d with %q\n%s", status, c.status, c.says, stderr)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("a run that cannot begin leaves a directory")
			}
		})
	}
}

// doctor and plan ask the cluster and change nothing in it.
func TestDoctorAndPlanOfACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	c := fakekube.Start(t)
	stdout, stderr, status := inCluster(t, "plan", "--kube", "-N", "default")
	if status != 0 || strings.Count(stdout, "kind: Job\n") != 4 || strings.Count(stdout, "kind: Service\n") != 2 || !strings.HasPrefix(stdout, "#") {
		t.Errorf("plan: status %d\n%s\n%s", status, stderr, stdout)
	}
	stdout, stderr, status = inCluster(t, "doctor", "--kube", "-N", "default")
	for _, want := range []string{"ok    kubectl", "ok    permissions", "ok    network pod", "node1: machine", "node2-p1: devices"} {
		if status != 0 || !strings.Contains(stdout, want) {
			t.Errorf("doctor: status %d, want %q\n%s\n%s", status, want, stderr, stdout)
		}
	}
	c.Set(t, func(s *fakekube.State) {
		if len(s.Objects) > 0 {
			t.Errorf("left behind: %v", s.Objects)
		}
		s.Denied = []string{"create jobs"}
	})
	stdout, stderr, status = inCluster(t, "doctor", "--kube", "-N", "default")
	if status != 3 || !strings.Contains(stdout, "MISSING  permissions") {
		t.Errorf("doctor without permission: status %d\n%s\n%s", status, stderr, stdout)
	}
}
