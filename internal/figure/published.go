package figure

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/strictyaml"
)

// A Published is a number that a document prints, and the cells that it is about.
type Published struct {
	Place strictyaml.Position `json:"-"`
	At    map[string]Levels   `json:"at"`
	Value Quantity            `json:"value,omitzero"` // of that machine
	Ratio claim.Figure        `json:"ratio,omitzero"` // to the cell that differs in To
	To    map[string]string   `json:"to,omitempty"`   // empty: the figure's
	// Seconds are the values of each second of a trial, instead of Value or Ratio.
	Seconds []Quantity `json:"seconds,omitempty"`
	Thread  string     `json:"thread,omitempty"` // of chart threads: the one that the value is about, in words
}

// Levels are levels of one factor. In YAML, one level needs no list.
type Levels []string

func (l *Levels) UnmarshalText(b []byte) error {
	*l = Levels{string(b)}
	return nil
}

// A Quantity is a number in its published form, such as "934 Mbit/s", and in its base unit.
type Quantity struct {
	Text  string  `json:"text"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// units maps the units in which documents print numbers to base units.
var units = map[string]struct {
	factor float64
	base   string
}{
	"Gbit/s": {1e9, "bit/s"}, "Mbit/s": {1e6, "bit/s"}, "packet/s": {1, "packet/s"},
	"ms": {1e-3, "s"}, "us": {1e-6, "s"}, "%": {1e-2, "1"},
}

func (q *Quantity) UnmarshalText(b []byte) error {
	s := string(b)
	number, unit, _ := strings.Cut(s, " ")
	v, err := strconv.ParseFloat(number, 64)
	u, ok := units[unit]
	if err != nil || !ok || !(v > 0 && v < 1e15) {
		return fmt.Errorf("invalid value %q: want a number above 0 and one of %s, such as 934 Mbit/s", s, strings.Join(slices.Sorted(maps.Keys(units)), ", "))
	}
	*q = Quantity{Text: s, Value: v * u.factor, Unit: u.base}
	return nil
}

func (f Figure) checkPublished(p Published) error {
	given := 0
	for _, has := range []bool{p.Value.Value > 0, p.Ratio.Value > 0, p.Seconds != nil} {
		if has {
			given++
		}
	}
	if given != 1 || p.Seconds != nil && f.Chart != OverTime {
		return errors.New("published: want either value or ratio, or seconds of a chart over")
	}
	if p.Ratio.Value > 0 && len(p.To) == 0 && len(f.To) == 0 {
		return errors.New("published: a ratio needs to, here or in the figure")
	}
	if (p.Thread != "") != (f.Chart == Threads) {
		return errors.New("published: thread is for the values of chart threads, each of which needs it")
	}
	if len(p.At) == 0 {
		return errors.New("published: at is missing: say which cells the number is about")
	}
	for _, k := range slices.Sorted(maps.Keys(p.At)) {
		for _, l := range p.At[k] {
			if err := f.checkLevels("published", map[string]string{k: l}); err != nil {
				return err
			}
		}
	}
	return f.checkLevels("published", p.To)
}

// about reports whether p is about the cell with these levels.
func (p Published) about(levels map[string]string) bool {
	for k, ls := range p.At {
		if !slices.Contains(ls, levels[k]) {
			return false
		}
	}
	return true
}
