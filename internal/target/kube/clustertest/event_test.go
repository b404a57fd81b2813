package clustertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-bench/weir/record"
)

// The endpoint of weir's own Service is gone for two seconds: new connections stop after kube-proxy has heard of it, and come
// through again after it is back. A trial without an event shows none of that. Nothing is left.
func TestEndpointEvent(t *testing.T) {
	need(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "study.yaml")
	study := "networks: [service]\nprobes: [connect-outage]\nblocks: 2\nduration: 8s\n" +
		"events: [{name: endpoint-gone, at: 1s, for: 2s, do: [{in: server, endpoint: {gone: true}}]}]\n"
	if err := os.WriteFile(file, []byte(study), 0o600); err != nil {
		t.Fatal(err)
	}
	m := measure(t, file, "--image", os.Getenv("WEIR_IMAGE"))
	if status := m.status(t); status != 0 {
		t.Errorf("status %d; weir printed:\n%s", status, &m.out)
	}
	rs := m.results(t)
	for _, r := range rs {
		if r.Status != record.OK {
			t.Errorf("%s: %s: %s", r.Trial, r.Status, r.Reason)
			continue
		}
		outage, _ := r.Get(record.Outage)
		lasted, happened := r.Get(record.EventLasted)
		delay, _ := r.Get(record.OutageDelay)
		switch r.Config["event"] {
		case "none":
			if happened {
				t.Errorf("%s: an event lasted %v", r.Trial, lasted)
			}
		default: // Linux and kubectl take a moment, and the cluster some more
			if lasted.Value < 2 || outage.Value < 0.5 || delay.Value <= 0 {
				t.Errorf("%s: the event lasted %v s, traffic stopped for %v s, %v s later", r.Trial, lasted.Value, outage.Value, delay.Value)
			}
		}
	}
	if len(rs) != 4 {
		t.Errorf("%d trials, want 4", len(rs))
	}
}

// The pod of a DaemonSet that the user names is restarted on the node of the server, and nowhere else.
func TestDaemonEvent(t *testing.T) {
	need(t)
	t.Parallel()
	const set = `{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": {"selector": {"matchLabels": {"app": "agent"}},
		"template": {"metadata": {"labels": {"app": "agent"}}, "spec": {"terminationGracePeriodSeconds": 1, "tolerations": [{"operator": "Exists"}],
		"containers": [{"name": "agent", "image": "` + shellImage + `", "imagePullPolicy": "Never", "command": ["sh", "-c", "while :; do sleep 1; done"]}]}}}}`
	file := filepath.Join(t.TempDir(), "set.json")
	if err := os.WriteFile(file, []byte(set), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "create", "namespace", "agents")
	kubectl(t, "create", "-n", "agents", "-f", file)
	kubectl(t, "rollout", "status", "-n", "agents", "daemonset/agent", "--timeout=60s")
	pods := func() string {
		return kubectl(t, "get", "pods", "-n", "agents", "--sort-by=.spec.nodeName", "-o", `jsonpath={range .items[*]}{.spec.nodeName}={.metadata.uid} {end}`)
	}
	before := strings.Fields(pods())
	study := filepath.Join(t.TempDir(), "study.yaml")
	text := "networks: [pod]\nprobes: [udp-outage]\nblocks: 1\nduration: 12s\n" +
		"events: [{name: agent-restarted, at: 1s, for: 5s, do: [{in: server, daemon: {name: agents/agent, do: terminate}}]}]\n"
	if err := os.WriteFile(study, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := measure(t, study, "--image", os.Getenv("WEIR_IMAGE"))
	if status := refused.status(t); status != 2 || !strings.Contains(refused.out.String(), "add --allow agents/agent to weir run") {
		t.Errorf("status %d, want 2; weir printed:\n%s", status, &refused.out)
	}
	m := measure(t, study, "--image", os.Getenv("WEIR_IMAGE"), "--nodes", "node1,node2", "--swap=false", "--allow", "agents/agent")
	if status := m.status(t); status != 0 {
		t.Errorf("status %d; weir printed:\n%s", status, &m.out)
	}
	happened := 0
	for _, r := range m.results(t) {
		if lasted, ok := r.Get(record.EventLasted); r.Status != record.OK || ok && lasted.Value < 5 {
			t.Errorf("%s: %s: %s: the event lasted %v s", r.Trial, r.Status, r.Reason, lasted.Value)
		} else if ok {
			happened++
		}
	}
	after := strings.Fields(pods())
	if happened != 1 || len(before) != 2 || len(after) != 2 || before[0] != after[0] || before[1] == after[1] {
		t.Errorf("%d events; pods %v, then %v: want another one on node2", happened, before, after)
	}
}
