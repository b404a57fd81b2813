package clustertest

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The cluster would accept every object of a plan.
func TestPlan(t *testing.T) {
	need(t)
	t.Parallel()
	plan := weir(t, "plan", "--kube", "-N", "default", "--image", os.Getenv("WEIR_IMAGE"))
	var said bytes.Buffer
	plan.Stderr = &said
	manifests, err := plan.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	apply := exec.CommandContext(t.Context(), "kubectl", "apply", "--dry-run=server", "-f", "-")
	apply.Stdin = bytes.NewReader(manifests)
	out, err := apply.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s\n%s", err, out, manifests)
	}
	for _, kind := range []string{"job.batch/", "service/"} {
		if !strings.Contains(string(out), kind) {
			t.Errorf("no %s in the plan:\n%s", kind, out)
		}
	}
}

// doctor finds nothing missing where a run works, and names the level that forbids the baseline.
func TestDoctor(t *testing.T) {
	need(t)
	t.Parallel()
	kubectl(t, "create", "namespace", "doctor")
	if out, err := weir(t, "doctor", "--kube", "-N", "doctor").CombinedOutput(); err != nil || !strings.Contains(string(out), "v1.33.13") {
		t.Errorf("%v:\n%s", err, out)
	}
	kubectl(t, "label", "namespace", "doctor", "pod-security.kubernetes.io/enforce=restricted")
	if out, _ := weir(t, "doctor", "--kube", "-N", "doctor").CombinedOutput(); !strings.Contains(string(out), "pod-security.kubernetes.io/enforce=privileged") {
		t.Errorf("no remedy:\n%s", out)
	}
}
