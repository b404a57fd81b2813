package figure

// A Pane is what one cell used inside its trials.
type Pane struct {
	Network string `json:"network"`
	Probe   string `json:"probe"`
}
