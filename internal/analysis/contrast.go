package analysis

import "github.com/weir-bench/weir/internal/stat"

// A Contrast is a comparison that a study states: cells divided by others that differ from them only
// in the factors of To, in the same blocks. Network and Probe are factors like all others.
type Contrast struct {
	Of    map[string][]string `json:"of,omitempty"`    // levels of the factors of To; empty means all others
	To    map[string]string   `json:"to"`              // the level that divides, by factor
	In    map[string][]string `json:"in,omitempty"`    // restricts the cells, by factor
	Per   map[string]string   `json:"per,omitempty"`   // the level of further factors whose ratio divides this ratio
	Value string              `json:"value,omitempty"` // name of the value; "" is the probe's first
	Text  string              `json:"text,omitempty"`  // subject of a sentence; "" means the levels
}

// A Contrasted is a contrast and what the run says about it.
type Contrasted struct {
	Contrast
	Rows []ContrastRow `json:"rows"`
}

// A ContrastRow is one ratio of a contrast.
type ContrastRow struct {
	Cell                     // of the numerator; Levels without the factors of To
	Of     map[string]string `json:"of"` // levels of the factors of To
	Metric string            `json:"metric"`
	Unit   string            `json:"unit"`
	// Value and Base are the medians of numerator and denominator over blocks. Each holds by itself.
	Value stat.Interval `json:"value"`
	Base  stat.Interval `json:"base"`
	// Ratio is Value ÷ Base in the same block; with Per, divided by the ratio of the cells of Per. N
	// is 0 if no block has both.
	Ratio stat.Interval `json:"ratio,omitzero"`
	// Difference is Value − Base in the same block, in Unit; N is 0 with Per, and unless both are in the
	// same block.
	Difference stat.Interval `json:"difference,omitzero"`
	// Path is the ratio of the network's part of response times; N is 0 if trials do not split them.
	Path       stat.Interval `json:"path,omitzero"`
	Same       bool          `json:"same,omitempty"`       // the interval of Ratio contains 1
	Detectable float64       `json:"detectable,omitempty"` // smallest relative difference that would have shown
	Far        []Far         `json:"far,omitempty"`        // blocks far from the others; they count
	Busy       *Disturbance  `json:"busy,omitempty"`       // set if disturbed trials count
	Missing    string        `json:"missing,omitempty"`    // why there is no ratio
}
