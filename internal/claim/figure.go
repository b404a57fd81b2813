package claim

import (
	"fmt"
	"strconv"
	"strings"
)

// A Figure is a ratio in its published form: "900/934", "-30%", "+20%", or a number. Zero means
// none.
type Figure struct {
	Text  string  `json:"text"`
	Value float64 `json:"value"`
}

func (f *Figure) UnmarshalText(b []byte) error {
	s := string(b)
	v, err := figure(s)
	if err != nil || !(v > 0 && v < 1e6) {
		return fmt.Errorf("invalid ratio %q: want 900/934, -30%%, +20%% or 2", s)
	}
	*f = Figure{Text: s, Value: v}
	return nil
}

func figure(s string) (float64, error) {
	if change, ok := strings.CutSuffix(s, "%"); ok {
		v, err := strconv.ParseFloat(change, 64)
		if change == "" || change[0] != '+' && change[0] != '-' {
			err = strconv.ErrSyntax // 30% can mean 0.3 or 1.3
		}
		return 1 + v/100, err
	}
	of, to, ok := strings.Cut(s, "/")
	v, err := strconv.ParseFloat(of, 64)
	if !ok || err != nil {
		return v, err
	}
	d, err := strconv.ParseFloat(to, 64)
	return v / d, err
}
