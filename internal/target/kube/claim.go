package kube

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
)

const (
	// NodeDisk as Volume keeps the results on the disk of the coordinator's node, whatever the cluster offers.
	NodeDisk = "-"
	// claimSize is what weir's claim requests. Trials of half a second took 25 kB each, 33 kB in blocks of 4 KiB: it
	// holds 30,000.
	claimSize = "1Gi"
	// defaultClass marks the StorageClass of claims that name none (k8s.io/kubernetes/pkg/volume/util, IsDefaultStorageClassAnnotation).
	defaultClass = "storageclass.kubernetes.io/is-default-class"
)

// A claim asks for a volume of the default StorageClass.
type claim struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Metadata   meta      `json:"metadata"`
	Spec       claimSpec `json:"spec"`
}

type claimSpec struct {
	Modes     []string  `json:"accessModes"`
	Resources resources `json:"resources"`
}

// claim returns the claim for the results. It goes with the coordinator's Job, which stays until they are home.
func (t *Target) claim(owners []owner) claim {
	c := claim{"v1", "PersistentVolumeClaim", t.meta(t.coordinatorName(), coordination),
		claimSpec{[]string{"ReadWriteOnce"}, resources{Requests: map[string]string{"storage": claimSize}}}}
	c.Metadata.Owners = owners
	return c
}

// claimName returns the claim that the results are on; "" is the disk of the coordinator's node.
func (t *Target) claimName() string {
	switch {
	case t.Volume == NodeDisk:
		return ""
	case t.Volume == "" && t.class != "":
		return t.coordinatorName()
	}
	return t.Volume
}

// Kept reports whether the results outlive the pod of the coordinator, which is known after Launch or View.
func (t *Target) Kept() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept
}

// checkClaim finds the default StorageClass.
func (t *Target) checkClaim(ctx context.Context) (string, error) {
	var classes list[struct {
		Metadata struct {
			Name        string            `json:"name"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}]
	if err := t.outside().get(ctx, &classes, "storageclasses"); forbidden(err) {
		return "unknown: StorageClasses cannot be listed", nil
	} else if err != nil {
		return "", err
	}
	for _, c := range classes.Items {
		if c.Metadata.Annotations[defaultClass] == "true" {
			t.class = oneLine(c.Metadata.Name)
		}
	}
	return cmp.Or(t.class, "the cluster has no default one"), nil
}

// allowClaim asks whether the cluster would give the run its claim, and does without one if it would not.
func (t *Target) allowClaim(ctx context.Context) error {
	if t.Volume != "" || t.class == "" {
		return nil
	}
	_, err := t.inside().create(ctx, []any{t.claim(nil)}, "--dry-run=server")
	if unanswered(err) {
		return err
	}
	if err != nil {
		t.warn("no claim of the StorageClass %s for the results, which stay on the disk of the coordinator's node: %v", t.class, unadvised(err))
		t.class = ""
	}
	return nil
}

// twice doubles a quantity (docs of study.Kube.Memory).
func twice(quantity string) string {
	var n float64
	var unit string
	if _, err := fmt.Sscanf(quantity, "%f%s", &n, &unit); err != nil && unit != "" || n == 0 {
		return quantity
	}
	return strconv.FormatFloat(2*n, 'f', -1, 64) + unit
}
