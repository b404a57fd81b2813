package study

// A Contrast states a comparison: cells divided by others that differ from them only in the factors
// of To, in the same blocks. Networks and probes are factors here, named network and probe.
//
//	compare:
//	  - {to: {load: idle}}                      # every other load ÷ idle
//	  - of: {size: 1473}                        # one level ÷ another
//	    to: {size: 1472}
//	    in: {network: [host, ipip]}             # on these networks only
//	    text: a datagram one byte above the MTU
//	  - of: {offload: "on"}
//	    to: {offload: "off"}
//	    per: {network: host}                    # on ÷ off, divided by on ÷ off on host
//	  - {to: {network: host}, value: rtt.path}  # a value other than the probe's first
//
// A study without contrasts compares its networks with its baseline.
type Contrast struct {
	Of    Levels            // levels of the factors of To; empty means all others
	To    map[string]string // the level that divides, by factor
	In    Levels            // restricts the cells, by factor; a factor without an entry is free
	Per   map[string]string // the level of further factors whose ratio divides this ratio, if any
	Value string            // name of the value; "" is the probe's first
	Text  string            // subject of the answer's sentence; "" means the levels
}

// Levels holds levels by factor. In YAML, one level needs no list.
type Levels map[string][]string
