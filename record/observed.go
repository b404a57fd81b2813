package record

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Observed holds what a trial saw but the study did not set, as text by key, so that trials that saw the same
// share one map. A Fact reads and writes a key with its type; families of keys, such as versions, have methods.
type Observed map[string]string

// Typed is what a Fact can hold.
type Typed interface {
	string | bool | int | float64 | time.Duration | []int | []string
}

// A Fact is a key of Observed with a type.
type Fact[T Typed] struct{ key string }

// Facts describes the keys of Observed in the order of docs/values.md.
func Facts() []FactDefinition { return slices.Clone(facts) }

// A FactDefinition is a line of the vocabulary of Observed.
type FactDefinition struct{ Key, Type, Doc string }

var facts []FactDefinition

func fact[T Typed](key, doc string) Fact[T] {
	var zero T
	facts = append(facts, FactDefinition{key, strings.TrimPrefix(fmt.Sprintf("%T", zero), "time."), doc})
	return Fact[T]{key}
}

// The path, as the driver states it or as the target found it.
var (
	PathMTU      = fact[int]("path.mtu", "Largest IP packet that the path passes whole, bytes.")
	PathOverhead = fact[int]("path.overhead", "Bytes that encapsulation adds to every IP packet.")
	PathHosts    = fact[[]string]("path.hosts", "Hosts that the packets pass, in order.")
	PathDelay    = fact[time.Duration]("path.delay", "Delay that the study puts between hosts, each way.")
	PathJitter   = fact[time.Duration]("path.jitter", "Largest deviation from it.")
	PathLoss     = fact[float64]("path.loss", "Share of the packets that the study loses between hosts.")
	DelayBy      = fact[string]("delay.by", "What delays the packets.")
	Link         = fact[float64]("link", "Rate of each host's link, bit/s.")
	Ceiling      = fact[float64]("ceiling", "Payload rate that the headers leave of the link, in the unit of the metric.")
	ClientHost   = fact[string]("client.host", "Machine of the client, on networks that weir found.")
	ClientDevice = fact[string]("client.device", "Device of the client there.")
	ServerHost   = fact[string]("server.host", "Machine of the server, on networks that weir found.")
	ServerDevice = fact[string]("server.device", "Device of the server there.")
	Client       = fact[string]("client", "The client, where the study measures all pairs of hosts.")
	Server       = fact[string]("server", "The server, where the study measures all pairs of hosts.")
	Swapped      = fact[bool]("swapped", "The client and the server changed places.")
	BridgeNF     = fact[string]("bridge.nf", "Whether bridges of the path pass packets to netfilter.")
	RPS          = fact[[]string]("rps", "Masks of receive packet steering on the path's devices.")
	RxQueues     = fact[[]string]("rx.queues", "Numbers of receive queues of the path's devices.")
)

// The run around the trial.
var (
	Episode     = fact[int]("episode", "Which build of the network the trial used, counted from 1.")
	Repeats     = fact[int]("repeats", "The block that the trial's block repeats.")
	Accelerator = fact[string]("vm.accelerator", "What runs the guests of the network: kvm or tcg.")
	Datapath    = fact[string]("ovs.datapath", "What forwards at the path's bridges of Open vSwitch: system (the kernel) or netdev (ovs-vswitchd).")
	Guest       = fact[string]("guest", "The guest in which the whole run took place.")
	AtOnce      = fact[int]("at.once", "Pairs of hosts that were measured at once, so that nobody can tell their CPU times apart.")
	CPUIncludes = fact[string]("cpu.includes", "Background whose CPU time and packets the values include.")
	OwnPartial  = fact[bool]("own.partial", "Receive packet steering gave packets to other CPUs, so a cost of the ends' own threads would miss them.")
	LoadShare   = fact[string]("load.share", "What the share of a background load refers to.")
	ClientCPUs  = fact[[]int]("cpus.client", "CPUs on which the client could run.")
	ServerCPUs  = fact[[]int]("cpus.server", "CPUs on which the server could run.")
	Source      = fact[string]("source", "File that an imported result comes from.")
	SourceHost  = fact[string]("host", "Machine that an imported result names.")
	Kernel      = fact[string]("kernel", "Kernel that an imported result names.")
)

const (
	Engine   = "weir engine" // weir's own traffic generator as a Tool
	Spinning = "spinning"    // of an end that polls, as a Wait
)

// What the tool says of its own settings.
var (
	Tool             = fact[string]("tool", "Tool and its version.")
	Warmup           = fact[time.Duration]("warmup", "Warm-up of a tool that cannot leave out the one that was asked for.")
	RTTDoubled       = fact[bool]("rtt.doubled", "The tool prints half of the round trip, and weir doubles it.")
	Size             = fact[int]("size", "Bytes of a write, a datagram or a message.")
	Datagram         = fact[int]("datagram", "Bytes of UDP payload in a datagram, of QUIC in the largest.")
	Streams          = fact[int]("streams", "Connections at once.")
	MSS              = fact[int]("mss", "Payload of a TCP segment, bytes.")
	Congestion       = fact[string]("congestion", "Congestion control of the client.")
	ServerCongestion = fact[string]("serverCongestion", "Congestion control of the server.")
	SndBuf           = fact[int]("sndbuf", "Send buffer of the socket, bytes.")
	RcvBuf           = fact[int]("rcvbuf", "Receive buffer of the socket, bytes.")
	Send             = fact[string]("send", "System call that sends: single, mmsg, gso, copy, zerocopy, ….")
	Recv             = fact[string]("recv", "System call that receives: single, mmsg, gro, copy, discard, ….")
	Batch            = fact[int]("batch", "Datagrams per send.")
	Rate             = fact[float64]("rate", "Rate that the sender keeps to, in the unit of the probe's option.")
	DSCP             = fact[int]("dscp", "Code point of the packets.")
	Nap              = fact[float64]("nap", "Pause of a polling receiver, s; 0 if it blocks.")
	Inflight         = fact[int]("inflight", "Requests under way at once.")
	Wait             = fact[string]("wait", "How an end waits for a message: blocking or spinning.")
	Stamps           = fact[string]("stamps", "Where timestamps were taken, or why not.")
	Ports            = fact[int]("ports", "Ports of the client, used in turn.")
	Socket           = fact[string]("socket", "Socket of a ping: dgram or raw.")
	CapacityKind     = fact[string]("capacity", "Loss that a capacity allows.")
	Limit            = fact[string]("limit", "What ended the search for a capacity.")
	ClientCPU        = fact[int]("cpu", "CPU that a polling client keeps busy.")
	ServerCPU        = fact[int]("serverCPU", "CPU that a polling server keeps busy.")
)

// Key is the key of f, for those that list or compare all keys.
func (f Fact[T]) Key() string { return f.key }

// Of returns the fact; the zero value if the trial did not observe it.
func (f Fact[T]) Of(o Observed) T {
	v, _ := f.Get(o)
	return v
}

// In reports whether the trial observed the fact.
func (f Fact[T]) In(o Observed) bool { return o[f.key] != "" }

// Put stores the fact. The zero value of a string or of a list is not an observation.
func (f Fact[T]) Put(o Observed, v T) {
	switch v := any(v).(type) {
	case string:
		o[f.key] = v
	case float64:
		o[f.key] = strconv.FormatFloat(v, 'f', -1, 64)
	case []string:
		o[f.key] = strings.Join(v, " ")
	default:
		o[f.key] = strings.Trim(fmt.Sprint(v), "[]")
	}
	if o[f.key] == "" {
		delete(o, f.key)
	}
}

// Is is an observation that Observe stores.
func (f Fact[T]) Is(v T) Observation { return func(o Observed) { f.Put(o, v) } }

// An Observation stores one fact.
type Observation func(Observed)

// Observe stores facts.
func (o Observed) Observe(all ...Observation) {
	for _, put := range all {
		put(o)
	}
}

// Get returns the fact; false if the trial did not observe it, or if the text has another type.
func (f Fact[T]) Get(o Observed) (v T, ok bool) {
	s := o[f.key]
	if s == "" {
		return v, false
	}
	var err error
	switch p := any(&v).(type) {
	case *string:
		*p = s
	case *bool:
		*p, err = strconv.ParseBool(s)
	case *int:
		*p, err = strconv.Atoi(s)
	case *float64:
		if *p, err = strconv.ParseFloat(s, 64); math.IsNaN(*p) || math.IsInf(*p, 0) {
			err = strconv.ErrRange // no observation is one
		}
	case *time.Duration:
		*p, err = time.ParseDuration(s)
	case *[]string:
		*p = strings.Fields(s)
	case *[]int:
		for _, f := range strings.Fields(s) {
			n, bad := strconv.Atoi(f)
			if bad != nil {
				err = bad
			}
			*p = append(*p, n)
		}
	}
	if err != nil {
		var zero T
		return zero, false
	}
	return v, true
}

// Families of keys: each key ends with the name of a program or of a property of the cluster.
const (
	versionOf = "version."
	clusterOf = "cluster."
	products  = ".version"
)

// VersionOf is the version of another program that takes part in a probe.
func VersionOf(program string) Fact[string] { return Fact[string]{versionOf + program} }

// Cluster returns the properties of the Kubernetes cluster by name: version, kube-proxy, cni, runtime, zones, sandboxed.
func (o Observed) Cluster() map[string]string {
	all := map[string]string{}
	for k, v := range o {
		if name, ok := strings.CutPrefix(k, clusterOf); ok {
			all[name] = v
		}
	}
	return all
}

// Products returns what the trial found out about the products that make the network: versions, and all of
// the cluster, by key.
func (o Observed) Products() map[string]string {
	all := maps.Clone(o)
	maps.DeleteFunc(all, func(k, _ string) bool {
		return !strings.HasSuffix(k, products) && !strings.HasPrefix(k, clusterOf) && k != "cni.plugins"
	})
	return all
}
