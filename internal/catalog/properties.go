package catalog

// Properties are what people compare container networks by, besides their cost. They
// describe what weir builds, and say so when the product of that name can do more.
type Properties struct {
	Model     Model  `json:"model"`
	Addresses string `json:"addresses"` // how pods get them
	Isolation string `json:"isolation"` // what separates pods
	Discovery string `json:"discovery"` // how pods find a service by name
}

// A Model is how pods connect to the underlay of the hosts.
type Model string

// Models of networks.
const (
	Bridged  Model = "bridged"  // one segment inside a host
	Routed   Model = "routed"   // hosts route between pods
	Overlay  Model = "overlay"  // hosts encapsulate the packets of pods
	Underlay Model = "underlay" // pods attach to the underlay
)
