package kube

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/topo"
)

const (
	// defaultShell is the image for clusters that have none of weir. weir arrives there by attach.
	defaultShell = "busybox:stable"
	// user is the user and group of all processes. 65532 is "nonroot" of distroless images.
	user = 65532
	// lifetime bounds a run's Jobs: a last resort. Agents end by themselves 30 s after weir does, and
	// those that nobody attached to within minutes of their start (package remote).
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
	Mode         string      `json:"completionMode,omitempty"`
	Completions  int         `json:"completions,omitempty"` // 0: one
	Parallelism  int         `json:"parallelism,omitempty"` // 0: one
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
	Affinity           *affinity    `json:"affinity,omitempty"`
	Tolerations        []toleration `json:"tolerations,omitempty"`
	PullSecrets        []reference  `json:"imagePullSecrets,omitempty"`
	PodSecurityContext podSecurity  `json:"securityContext"`
	Containers         []container  `json:"containers"`
	Volumes            []volume     `json:"volumes"`
}

type reference struct {
	Name string `json:"name"`
}

// An affinity names nodes by their names. The scheduler then checks taints and resources, and says what is
// wrong; nodeName would bypass it.
type affinity struct {
	Node struct {
		Required struct {
			Terms []nodeTerm `json:"nodeSelectorTerms"`
		} `json:"requiredDuringSchedulingIgnoredDuringExecution"`
	} `json:"nodeAffinity"`
	Spread *antiAffinity `json:"podAntiAffinity,omitempty"`
}

// onNodes is the affinity to any of the nodes. A term can name only one (matchFields).
func onNodes(names ...string) *affinity {
	a := new(affinity)
	for _, n := range names {
		a.Node.Required.Terms = append(a.Node.Required.Terms, nodeTerm{[]requirement{{"metadata.name", "In", []string{n}}}})
	}
	return a
}

// An antiAffinity keeps pods with the same labels off each other's nodes.
type antiAffinity struct {
	Required []spreadTerm `json:"requiredDuringSchedulingIgnoredDuringExecution"`
}

type spreadTerm struct {
	Pods struct {
		Labels map[string]string `json:"matchLabels"`
	} `json:"labelSelector"`
	Topology string `json:"topologyKey"`
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
	FSGroup int  `json:"fsGroup,omitempty"` // can write to claims
	Seccomp struct {
		Type string `json:"type"`
	} `json:"seccompProfile"`
}

type container struct {
	Name       string    `json:"name"`
	Image      string    `json:"image"`
	PullPolicy string    `json:"imagePullPolicy"`
	Command    []string  `json:"command"`
	Env        []env     `json:"env,omitempty"`
	Stdin      bool      `json:"stdin,omitempty"`
	StdinOnce  bool      `json:"stdinOnce,omitempty"`
	Message    string    `json:"terminationMessagePolicy,omitempty"`
	Resources  resources `json:"resources"`
	Security   security  `json:"securityContext"`
	Mounts     []mount   `json:"volumeMounts"`
}

// Resources have requests. Only a coordinator has a limit, of memory: a limit of CPU time throttles, and then the run
// measures only that.
type resources struct {
	Requests map[string]string `json:"requests"`
	Limits   map[string]string `json:"limits,omitempty"`
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
	Name     string `json:"name"`
	Path     string `json:"mountPath"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

// A volume has one of the others.
type volume struct {
	Name   string        `json:"name"`
	Empty  *struct{}     `json:"emptyDir,omitempty"`
	Secret *secretVolume `json:"secret,omitempty"`
	Claim  *claimVolume  `json:"persistentVolumeClaim,omitempty"`
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

func (t *Target) selector() string {
	return labelManager + "=weir," + labelRun + "=" + t.run
}

func (t *Target) meta(name, component string) meta {
	return meta{Name: name, Namespace: t.inside().namespace, Labels: t.labels(component)}
}

// namespaceOf returns the namespace that the run makes.
func (t *Target) namespaceOf(hosts bool) namespace {
	n := namespace{"v1", "Namespace", meta{Name: t.inside().namespace, Labels: t.labels("")}}
	if hosts {
		n.Metadata.Labels[labelEnforce] = "privileged"
	}
	return n
}

// job returns the Job of a seat: one pod, which passes PodSecurity "restricted" unless it is in the
// host's network.
func (t *Target) job(s *seat) job {
	return t.jobOf(t.meta(s.job, s.component()), t.pod(s), lifetime)
}

// jobOf returns a Job of one pod that ends within a time.
func (t *Target) jobOf(m meta, p podTemplate, within time.Duration) job {
	seconds := int(linger.Seconds())
	j := job{"batch/v1", "Job", m, jobSpec{Deadline: int(within.Seconds()), TTL: &seconds, Template: p}}
	if t.Keep {
		j.Spec.TTL = nil
	}
	return j
}

func (t *Target) pod(s *seat) podTemplate {
	p := t.bare(s.component(), s.at.taints, "/weir", "agent")
	c := &p.Spec.Containers[0]
	c.Stdin, c.StdinOnce = true, true
	if t.Image == "" {
		// $$ is a dollar sign, and $(NAME) would be a variable, to Kubernetes (EnvVar in its API).
		c.Image, c.Command = t.shell(), []string{"sh", "-c", strings.ReplaceAll(remote.Script, "$", "$$")}
	}
	p.Spec.HostNetwork, p.Spec.Affinity = s.host, onNodes(s.at.Name)
	return p
}

// bare returns a pod that runs a command on any node that has no other taints.
func (t *Target) bare(component string, taints []taint, command ...string) podTemplate {
	c := container{Name: "weir", Image: t.Image, PullPolicy: "IfNotPresent", Command: command,
		Resources: resources{Requests: map[string]string{"cpu": cmp.Or(t.CPU, "100m"), "memory": cmp.Or(t.Memory, "64Mi")}},
		Security:  security{ReadOnly: true, Capabilities: capabilities{[]string{"ALL"}}},
		Mounts:    []mount{{Name: "tmp", Path: "/tmp"}}}
	p := podTemplate{Metadata: meta{Labels: t.labels(component)}, Spec: podSpec{
		Restart: "Never", Grace: grace,
		Tolerations:        append(tolerating(taints), t.tolerations()...),
		PodSecurityContext: podSecurity{NonRoot: true, User: user, Group: user},
		Containers:         []container{c},
		Volumes:            []volume{{Name: "tmp", Empty: &struct{}{}}},
	}}
	if t.PullSecret != "" {
		p.Spec.PullSecrets = []reference{{t.PullSecret}}
	}
	p.Spec.PodSecurityContext.Seccomp.Type = "RuntimeDefault"
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
	v := service{"v1", "Service", t.meta(serviceName(s, of, v6), s.component()), serviceSpec{Type: kind, Families: []string{family}, Policy: "SingleStack",
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
