package kube

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// The objects of a run that a coordinator in the cluster carries out: a Job for the coordinator, an
// Indexed Job for each group of agents, and a Secret. The coordinator's Job owns the others, so
// that nothing outlives it.

const (
	// coordination is the component of the coordinator.
	coordination = "coordinator"
	// coordinatorPort is where the coordinator listens for agents, on the address of its pod. It is
	// outside of DefaultPorts.
	coordinatorPort = 5200
	// labelIndex is on the pods of Indexed Jobs (k8s.io/api/batch/v1, JobCompletionIndexAnnotation).
	labelIndex = "batch.kubernetes.io/job-completion-index"
	// retries is how many pods of a Job can fail: an agent that does is replaced, on a node that has none, because
	// a lost machine must cost its own trials alone; and a coordinator, because somebody must hand out its results.
	retries = 1 << 20
	// coordinatorMemory is what a coordinator requests: a run of 10,000 trials takes 250 MB at its end (docs/soak.md).
	// Twice as much is its limit.
	coordinatorMemory = "512Mi"
)

// Places in the pods of such a run.
const (
	// OrderDir has the files of the Secret: the token in every pod, and all in the coordinator's.
	OrderDir = "/etc/weir"
	// ResultsDir is the emptyDir or the claim of the coordinator.
	ResultsDir = "/results"
)

// Files of the Secret.
const (
	tokenFile   = "token"
	studyFile   = "study.yaml"
	clusterFile = "cluster.json"
)

type env struct {
	Name  string     `json:"name"`
	Value string     `json:"value,omitempty"`
	From  *envSource `json:"valueFrom,omitempty"`
}

type envSource struct {
	Field    *fieldRef    `json:"fieldRef,omitempty"`
	Resource *resourceRef `json:"resourceFieldRef,omitempty"`
}

type fieldRef struct {
	Path string `json:"fieldPath"`
}

type resourceRef struct {
	Name string `json:"resource"`
}

// own returns a variable with something that the cluster knows about the pod.
func own(name, field string) env {
	return env{Name: name, From: &envSource{Field: &fieldRef{field}}}
}

type secretVolume struct {
	Name  string       `json:"secretName"`
	Items []secretItem `json:"items,omitempty"` // none: all
}

type secretItem struct {
	Key  string `json:"key"`
	Path string `json:"path"`
}

type claimVolume struct {
	Name string `json:"claimName"`
}

type secret struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   meta              `json:"metadata"`
	Immutable  bool              `json:"immutable"`
	Data       map[string][]byte `json:"data"`
}

// A group is the agents of an Indexed Job: one on each of its nodes.
type group struct {
	Name  string   `json:"name"` // component
	Host  bool     `json:"host,omitempty"`
	N     int      `json:"n,omitempty"` // number of the pods on their nodes, from 1, unless Host
	Nodes []string `json:"nodes"`

	taints []taint
}

// groupsOf returns the groups with agents for all seats.
func groupsOf(seats []*seat) (all []*group) {
	by := map[string]*group{}
	for _, s := range seats {
		name := "hosts"
		if !s.host {
			name = fmt.Sprintf("pods-%d", s.n)
		}
		g := by[name]
		if g == nil {
			g = &group{Name: name, Host: s.host, N: s.n}
			by[name], all = g, append(all, g)
		}
		g.Nodes, g.taints = append(g.Nodes, s.at.Name), append(g.taints, s.at.taints...)
	}
	return all
}

// coordinatorName returns the name of the coordinator's Job, by which users call the run.
func (t *Target) coordinatorName() string { return "weir-" + t.run }

// within bounds how long the Jobs of a run can last, given about how long the run takes.
func within(takes time.Duration) time.Duration { return lifetime + 2*takes }

// coordinator returns the Job of the coordinator, which needs nothing of the cluster's API.
func (t *Target) coordinator(groups []*group, takes time.Duration) job {
	var taints []taint
	for _, g := range groups {
		taints = append(taints, g.taints...)
	}
	p := t.bare(coordination, taints, "/weir", "coordinate")
	c := &p.Spec.Containers[0]
	memory := cmp.Or(t.Memory, coordinatorMemory)
	c.Resources.Requests["memory"], c.Resources.Limits = memory, map[string]string{"memory": twice(memory)}
	// Go collects garbage more often before it exceeds the request: a node that runs out of memory ends pods that exceed theirs.
	c.Env = []env{own("WEIR_POD_IP", "status.podIP"), {Name: "WEIR_JOB", Value: t.coordinatorName()},
		{Name: "GOMEMLIMIT", From: &envSource{Resource: &resourceRef{"requests.memory"}}}}
	c.Mounts = append(c.Mounts, mount{"order", OrderDir, true}, mount{"results", ResultsDir, false})
	results := volume{Name: "results", Empty: &struct{}{}}
	if name := t.claimName(); name != "" {
		results = volume{Name: "results", Claim: &claimVolume{name}}
		p.Spec.PodSecurityContext.FSGroup = user
	}
	p.Spec.Volumes = append(p.Spec.Volumes, volume{Name: "order", Secret: &secretVolume{Name: t.coordinatorName()}}, results)
	p.Spec.Restart = "OnFailure"
	j := t.jobOf(t.meta(t.coordinatorName(), coordination), p, within(takes))
	j.Spec.BackoffLimit = retries
	return j
}

// agents returns the Indexed Job of a group, whose agents dial the coordinator at addr.
func (t *Target) agents(g *group, addr string, takes time.Duration) job {
	p := t.bare(g.Name, g.taints, "/weir", "agent", "--join", addr, "--token-file", OrderDir+"/"+tokenFile)
	c := &p.Spec.Containers[0]
	c.Message = "FallbackToLogsOnError" // why it cannot join is then the reason of the pod's end
	c.Env = []env{{Name: "WEIR_GROUP", Value: g.Name}, own("WEIR_NODE", "spec.nodeName"), own("WEIR_POD", "metadata.name"),
		own("WEIR_POD_IPS", "status.podIPs"), own("WEIR_HOST_IP", "status.hostIP")}
	c.Mounts = append(c.Mounts, mount{"order", OrderDir, true})
	p.Spec.Volumes = append(p.Spec.Volumes, volume{Name: "order", Secret: &secretVolume{t.coordinatorName(), []secretItem{{tokenFile, tokenFile}}}})
	p.Spec.HostNetwork = g.Host
	p.Spec.Affinity = onNodes(g.Nodes...)
	spread := spreadTerm{Topology: "kubernetes.io/hostname"}
	spread.Pods.Labels = map[string]string{labelRun: t.run, labelComponent: g.Name}
	p.Spec.Affinity.Spread = &antiAffinity{[]spreadTerm{spread}}
	j := t.jobOf(t.meta(t.coordinatorName()+"-"+g.Name, g.Name), p, within(takes))
	j.Spec.Mode, j.Spec.Completions, j.Spec.Parallelism, j.Spec.BackoffLimit = "Indexed", len(g.Nodes), len(g.Nodes), retries
	return j
}

// serviceOf returns the Service of one agent of a group. The scheduler decides which node it is on.
func (t *Target) serviceOf(g *group, index int, key serviceKey) service {
	v := t.service(&seat{what: g.Name, at: &Machine{}, n: g.N, job: fmt.Sprintf("%s-%s-%d", t.coordinatorName(), g.Name, index)}, key.kind, key.v6, "")
	v.Metadata.Labels = t.labels(g.Name)
	v.Spec.Selector = map[string]string{labelRun: t.run, labelComponent: g.Name, labelIndex: strconv.Itoa(index)}
	return v
}

// order returns the Secret with the files.
func (t *Target) order(files map[string][]byte) secret {
	return secret{"v1", "Secret", t.meta(t.coordinatorName(), coordination), true, files}
}

// A Placement is where an agent of an Indexed Job runs, as it tells the coordinator.
type Placement struct {
	Group   string   `json:"group"`
	Index   int      `json:"index"` // among the pods of the Job, from 0
	Node    string   `json:"node"`
	Pod     string   `json:"pod"`
	Addrs   []string `json:"addrs"`
	HostIPs []string `json:"hostIPs"`
}

// PlacementOf returns the placement of this process, from the environment of its pod.
func PlacementOf(getenv func(string) string) (Placement, error) {
	p := Placement{Group: getenv("WEIR_GROUP"), Node: getenv("WEIR_NODE"), Pod: getenv("WEIR_POD"),
		Addrs: strings.Split(getenv("WEIR_POD_IPS"), ","), HostIPs: []string{getenv("WEIR_HOST_IP")}}
	var err error
	if p.Index, err = strconv.Atoi(getenv("JOB_COMPLETION_INDEX")); err != nil {
		err = fmt.Errorf("JOB_COMPLETION_INDEX is %q: this is not a pod of an Indexed Job, where weir starts this command itself", getenv("JOB_COMPLETION_INDEX"))
	}
	return p, err
}

// CoordinatorAddr returns where the coordinator in a pod with this address listens.
func CoordinatorAddr(pod string) string { return net.JoinHostPort(pod, strconv.Itoa(coordinatorPort)) }
