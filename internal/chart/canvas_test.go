package chart

import (
	"math"
	"regexp"
	"strings"
	"testing"
)

// Names come from networks, studies and devices: none becomes markup.
func TestHostileNames(t *testing.T) {
	const name = "</text><script>\"&style=\x00\x1b\xff"
	foreign := oneTime(1, 2)
	foreign.Alt, foreign.Panels[0].Axis, foreign.Panels[0].Lines[0].Name = name, name, name
	for _, c := range []drawing{Ratios{[]Row{{Name: name, Color: 1, Value: 0.5, Label: name}}, name, name, name}, foreign,
		Lanes{[]string{name}, []LanePanel{{name, []Stop{{0, 0, 0, name, ""}, {0, 1, 0, "eth0", name}}}}, [6]string{name}, name, name},
		Flame{[]Frame{{Label: name, Long: name, Title: name, Value: 1}}, name, name, name}} {
		svg, err := c.SVG()
		if err != nil {
			t.Fatal(err)
		}
		wellFormed(t, svg)
		if strings.Contains(svg, "<script") {
			t.Error("a name became markup")
		}
	}
}

// Compilers fuse multiplication and addition for some CPUs, so the last bits of a result differ between them.
func TestLastBit(t *testing.T) {
	for name, c := range charts {
		svg, _ := c.SVG() // TestGolden shows its error
		if exact := regexp.MustCompile(`\d+\.\d{7,}`).FindString(svg); exact != "" {
			t.Errorf("%s says %s, which can differ between CPUs", name, exact)
		}
	}
	for _, v := range []float64{33.25, 0.05, 1000.15, -7.75} {
		below, above := px(math.Nextafter(v, -1e9)), px(math.Nextafter(v, 1e9))
		if below != above || px(v) != above {
			t.Errorf("around %v: %s, %s and %s; want the same", v, below, px(v), above)
		}
	}
}
