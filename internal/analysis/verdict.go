package analysis

import "github.com/weir-bench/weir/internal/stat"

// expectations returns the spread between runs to expect of every cell, after what the others show. Where each
// side has only one run, these show no spread, and none is expected.
func expectations(cells []sides, of func(CellRun) stat.Interval) []stat.Spread {
	var all [][][]stat.Interval
	for _, s := range cells {
		all = append(all, [][]stat.Interval{having(s.a, of), having(s.b, of)})
	}
	expected := stat.Expected(all)
	for i, sides := range all {
		if len(sides[0]) == 1 && len(sides[1]) == 1 {
			expected[i] = stat.Spread{}
		}
	}
	return expected
}

// stepDown sets the verdicts, and gives the intervals of changes the confidence by which each was judged.
func stepDown(changes []Change, bound, confidence float64) {
	var probabilities []float64
	var judged []int
	for i, x := range changes {
		if x.Ratio.Bounded() {
			probabilities, judged = append(probabilities, x.Ratio.PValue(bound)), append(judged, i)
		}
	}
	// Cells without an interval were compared in vain, and count all the same.
	for range len(changes) - len(judged) {
		probabilities = append(probabilities, 1)
	}
	levels := stat.StepDown(probabilities, confidence)
	for n, i := range judged {
		x := &changes[i]
		x.Ratio = x.Ratio.At(levels[n])
		*x = x.same()
		x.Worse, x.Better = x.Ratio.Hi < 1-bound, x.Ratio.Lo > 1+bound
		if x.Metric.LowerIsBetter(x.Unit) {
			x.Worse, x.Better = x.Better, x.Worse
		}
	}
}
