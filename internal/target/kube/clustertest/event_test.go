package clustertest

import (
	"os"
	"path/filepath"
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
