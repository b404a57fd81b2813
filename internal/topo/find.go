package topo

// A Find says what a target that does not build networks looks for.
type Find struct {
	Kind Kind
	Dev  string // with Via: the device of every host
}

// A Kind is a network that exists.
type Kind string

const (
	Hosts    Kind = ""         // the hosts' own addresses
	Via      Kind = "via"      // another device of the hosts
	PodNet   Kind = "pod"      // the addresses of pods
	Service  Kind = "service"  // pods, called by the cluster address of a Service
	NodePort Kind = "nodeport" // pods, called by a port of their host
)
