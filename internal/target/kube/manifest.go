package kube

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/topo"
)

const (
	// defaultShell is the image for clusters that have none of weir. weir arrives there by attach.
	defaultShell = "busybox:stable"
	// user is the user and group of all processes. 65532 is "nonroot" of distroless images.
	user = 65532
	// lifetime bounds a run's Jobs: a last resort. Agents end by themselves 30 s after weir does, and
	// a Job that nobody attached to ends with it.
	lifetime = 24 * time.Hour
	// linger is how long a finished Job stays, so that the reason of its end can be read.
	linger = 30 * time.Second
	grace  = 2 // seconds from SIGTERM to SIGKILL
	// servicePorts is the number of ports of a Service, which lists each of them for TCP and for UDP.
	servicePorts = 8
)

// Labels of every object (kubernetes.io/docs/concepts/overview/working-with-objects/common-labels).
const (
	labelName      = "app.kubernetes.io/name"
	labelRun       = "app.kubernetes.io/instance"
	labelComponent = "app.kubernetes.io/component"
	labelManager   = "app.kubernetes.io/managed-by"
	labelEnforce   = "pod-security.kubernetes.io/enforce"
)

type namespace struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   meta   `json:"metadata"`
}

type job struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Metadata   meta    `json:"metadata"`
	Spec       jobSpec `json:"spec"`
}

type jobSpec struct {
	Deadline     int         `json:"activeDeadlineSeconds"`
	TTL          *int        `json:"ttlSecondsAfterFinished,omitempty"` // nil: the Job stays
	BackoffLimit int         `json:"backoffLimit"`
	Template     podTemplate `json:"template"`
}

type podTemplate struct {
	APIVersion string  `json:"apiVersion,omitempty"` // set for a Pod alone
	Kind       string  `json:"kind,omitempty"`
	Metadata   meta    `json:"metadata"`
	Spec       podSpec `json:"spec"`
}

type podSpec struct {
	Restart            string       `json:"restartPolicy"`
	Grace              int          `json:"terminationGracePeriodSeconds"`
	ServiceAccount     bool         `json:"automountServiceAccountToken"`
	ServiceLinks       bool         `json:"enableServiceLinks"`
	HostNetwork        bool         `json:"hostNetwork,omitempty"`
	Affinity           affinity     `json:"affinity"`
	Tolerations        []toleration `json:"tolerations,omitempty"`
	PodSecurityContext podSecurity  `json:"securityContext"`
	Containers         []container  `json:"containers"`
	Volumes            []volume     `json:"volumes"`
}

// An affinity names a node by its name. The scheduler then checks taints and resources, and says what is
// wrong; nodeName would bypass it.
type affinity struct {
	Node struct {
		Required struct {
			Terms []nodeTerm `json:"nodeSelectorTerms"`
		} `json:"requiredDuringSchedulingIgnoredDuringExecution"`
	} `json:"nodeAffinity"`
}

type nodeTerm struct {
	Fields []requirement `json:"matchFields"`
}

type requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

type toleration struct {
	Key      string `json:"key,omitempty"`
	Operator string `json:"operator"`
	Value    string `json:"value,omitempty"`
	Effect   string `json:"effect,omitempty"`
}

type podSecurity struct {
	NonRoot bool `json:"runAsNonRoot"`
	User    int  `json:"runAsUser"`
	Group   int  `json:"runAsGroup"`
	Seccomp struct {
		Type string `json:"type"`
	} `json:"seccompProfile"`
}

type container struct {
	Name       string    `json:"name"`
	Image      string    `json:"image"`
	PullPolicy string    `json:"imagePullPolicy"`
	Command    []string  `json:"command"`
	Stdin      bool      `json:"stdin"`
	StdinOnce  bool      `json:"stdinOnce"`
	Resources  resources `json:"resources"`
	Security   security  `json:"securityContext"`
	Mounts     []mount   `json:"volumeMounts"`
}

// Resources have requests and no limits: a CPU limit throttles, which is then all that is measured.
type resources struct {
	Requests map[string]string `json:"requests"`
}

type security struct {
	Escalation   bool         `json:"allowPrivilegeEscalation"`
	ReadOnly     bool         `json:"readOnlyRootFilesystem"`
	Capabilities capabilities `json:"capabilities"`
}

type capabilities struct {
	Drop []string `json:"drop"`
}

type mount struct {
	Name string `json:"name"`
	Path string `json:"mountPath"`
}

type volume struct {
	Name  string   `json:"name"`
	Empty struct{} `json:"emptyDir"`
}

type service struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Metadata   meta        `json:"metadata"`
	Spec       serviceSpec `json:"spec"`
}

type serviceSpec struct {
	Type     string            `json:"type"`
	Families []string          `json:"ipFamilies"`
	Policy   string            `json:"ipFamilyPolicy"`
	Selector map[string]string `json:"selector"`
	Ports    []port            `json:"ports"`
}

// A port is one of a Service, made or read.
type port struct {
	Name     string `json:"name"`
	Protocol string `json:"protocol"`
	Port     uint16 `json:"port"`
	Target   uint16 `json:"targetPort"`
	Node     uint16 `json:"nodePort,omitempty"`
}

// labels returns the labels of an object of component, or of the namespace ("").
func (t *Target) labels(component string) map[string]string {
	l := map[string]string{labelName: "weir", labelRun: t.run, labelManager: "weir"}
	if component != "" {
		l[labelComponent] = component
	}
	return l
}

// selector selects all objects of the run.
func (t *Target) selector() string {
	return labelManager + "=weir," + labelRun + "=" + t.run
}

// namespaceOf returns the namespace that the run makes.
func (t *Target) namespaceOf(hosts bool) namespace {
	n := namespace{"v1", "Namespace", meta{Name: "weir-" + t.run, Labels: t.labels("")}}
	if hosts {
		n.Metadata.Labels[labelEnforce] = "privileged"
	}
	return n
}

// job returns the Job of a seat: one pod, which passes PodSecurity "restricted" unless it is in the
// host's network.
func (t *Target) job(s *seat) job {
	seconds := int(linger.Seconds())
	j := job{"batch/v1", "Job", meta{Name: s.job, Labels: t.labels(s.component())},
		jobSpec{Deadline: int(lifetime.Seconds()), TTL: &seconds, Template: t.pod(s)}}
	if t.Keep {
		j.Spec.TTL = nil
	}
	return j
}

func (t *Target) pod(s *seat) podTemplate {
	c := container{Name: "weir", Image: t.Image, PullPolicy: "IfNotPresent", Command: []string{"/weir", "agent"}, Stdin: true, StdinOnce: true,
		Resources: resources{map[string]string{"cpu": "100m", "memory": "64Mi"}},
		Security:  security{ReadOnly: true, Capabilities: capabilities{[]string{"ALL"}}},
		Mounts:    []mount{{"tmp", "/tmp"}}}
	if t.Image == "" {
		// $$ is a dollar sign, and $(NAME) would be a variable, to Kubernetes (EnvVar in its API).
		c.Image, c.Command = t.shell(), []string{"sh", "-c", strings.ReplaceAll(remote.Script, "$", "$$")}
	}
	p := podTemplate{Metadata: meta{Labels: t.labels(s.component())}, Spec: podSpec{
		Restart: "Never", Grace: grace, HostNetwork: s.host,
		PodSecurityContext: podSecurity{NonRoot: true, User: user, Group: user},
		Containers:         []container{c},
		Volumes:            []volume{{Name: "tmp"}},
	}}
	p.Spec.PodSecurityContext.Seccomp.Type = "RuntimeDefault"
	p.Spec.Affinity.Node.Required.Terms = []nodeTerm{{[]requirement{{"metadata.name", "In", []string{s.at.Name}}}}}
	for _, x := range s.at.taints {
		tol := toleration{x.Key, "Equal", x.Value, x.Effect}
		if x.Value == "" {
			tol.Operator = "Exists"
		}
		p.Spec.Tolerations = append(p.Spec.Tolerations, tol)
	}
	return p
}

// service returns the Service of the pod of a seat. It goes with the Job whose UID is uid; "" names none.
func (t *Target) service(s *seat, of topo.Kind, v6 bool, uid string) service {
	kind, family := "ClusterIP", "IPv4"
	if of == topo.NodePort {
		kind = "NodePort"
	}
	if v6 {
		family = "IPv6"
	}
	v := service{"v1", "Service", meta{Name: serviceName(s, of, v6), Labels: t.labels(s.component())}, serviceSpec{Type: kind, Families: []string{family}, Policy: "SingleStack",
		Selector: map[string]string{labelRun: t.run, labelComponent: s.component()}}}
	if uid != "" {
		v.Metadata.Owners = []owner{{"batch/v1", "Job", s.job, uid}}
	}
	first, last := t.servicePorts()
	for p := uint32(first); p <= uint32(last); p++ {
		for _, protocol := range []string{"TCP", "UDP"} {
			v.Spec.Ports = append(v.Spec.Ports, port{Name: fmt.Sprintf("%s-%d", strings.ToLower(protocol), p), Protocol: protocol, Port: uint16(p), Target: uint16(p)})
		}
	}
	return v
}

func serviceName(s *seat, of topo.Kind, v6 bool) string {
	n := s.job + "-" + string(of)
	if v6 {
		n += "-ipv6"
	}
	return n
}

// Manifests returns the objects that Open makes for networks with these topologies, as YAML. Connect
// must have chosen the nodes, unless they are named. The Services lack ownerReferences, because the UIDs
// of their Jobs are not known yet.
func (t *Target) Manifests(wants []topo.Topology) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	plan := &Target{Kube: t.Kube, Ports: t.Ports, Wants: wants, HostNetwork: t.HostNetwork, run: "plan", machines: t.machines}
	if len(plan.machines) == 0 && !plan.any() && !plan.all() {
		plan.machines = named(t.Nodes)
	}
	if len(plan.machines) == 0 {
		return nil, fmt.Errorf("the nodes are not known yet: connect to the cluster, or name them (--nodes)")
	}
	seats, services, err := plan.needs(wants...)
	if err != nil {
		return nil, err
	}
	in := t.Namespace
	if in == "" {
		in = "weir-RANDOM"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# weir makes these objects in the namespace %s, with random characters instead of \"plan\",\n"+
		"# makes the Jobs the owners of their Services, and deletes everything at the end.\n", in)
	var objects []any
	if t.Namespace == "" {
		ns := plan.namespaceOf(plan.inHosts(seats))
		ns.Metadata.Name = "weir-plan"
		objects = append(objects, ns)
	}
	for _, s := range seats {
		s.job = plan.jobName(s)
		objects = append(objects, plan.job(s))
	}
	for _, v := range services {
		objects = append(objects, plan.service(v.seat, v.kind, v.v6, ""))
	}
	for _, o := range objects {
		j, err := json.Marshal(o)
		if err == nil {
			j, err = yaml.JSONToYAML(j)
		}
		if err != nil {
			return nil, err
		}
		b.WriteString("---\n")
		b.Write(j)
	}
	return b.Bytes(), nil
}
