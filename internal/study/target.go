package study

// A Target says where networks exist that a study measures without building them. The zero Target is
// the lab of this machine.
type Target struct {
	SSH   []string // machines as ssh(1) names them, or NAME=ADDRESS to measure between other addresses
	Kube  *Kube    // nil: no cluster
	Ports string   // FIRST-LAST, the ports that servers listen on; "" is the default range
}

// Exists reports whether t is anything but the lab.
func (t Target) Exists() bool { return len(t.SSH) > 0 || t.Kube != nil }

// A Kube is a Kubernetes cluster.
type Kube struct {
	Context   string   // of the kubeconfig; "" is the current one
	Namespace string   // "" makes one for the run
	Nodes     []string // names; none: two that differ in zone if possible; "all": every node that can run pods
	Image     string   // that holds weir (weir image); "" starts Shell and sends weir there
	Shell     string   // image with a POSIX shell; "" is the default
	Keep      bool     // leave the objects in the cluster
}
