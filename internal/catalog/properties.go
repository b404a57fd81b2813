package catalog

// Properties are what people compare container networks by, beside their cost.
// They are of what is built here. A product that can do more says so.
type Properties struct {
	Model     Model  `json:"model"`
	Addresses string `json:"addresses"` // how pods get theirs
	Isolation string `json:"isolation"` // what keeps pods apart
	Discovery string `json:"discovery"` // how pods find a service by its name
}

// A Model is how pods are connected with the hosts' underlay.
type Model string

// Models of networks.
const (
	Bridged  Model = "bridged"  // one segment inside a host
	Routed   Model = "routed"   // the hosts are routers between the pods
	Overlay  Model = "overlay"  // packets of pods in packets of hosts
	Underlay Model = "underlay" // pods are stations of the underlay
)
