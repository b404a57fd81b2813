package figure

import (
	"os"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/study"
)

// A file of figures is everybody's: one that loads can be drawn, or says why not.
func FuzzLoad(f *testing.F) {
	const head = "source: Somebody\nstudies:\n  s: {networks: [host, bridge], probes: [tcp-stream], factors: {size: [1, 2]}}\nfigures:\n"
	const start = "- {id: a-1, place: figure 1, section: 2, caption: C, question: Q, numbers: N, study: s, chart: "
	for _, end := range []string{
		"bars, rows: network, bars: size, to: {network: host}, published: [{at: {network: [host, bridge]}, ratio: 0.7}]}\n",
		"curve, rows: network, x: size, published: [{at: {size: 1}, value: 1 Gbit/s}]}\n",
		"matrix, rows: network, panels: size}\n", "hops}\n", "threads}\n",
		"over, published: [{at: {network: host}, seconds: [1 Mbit/s, 2 Mbit/s]}]}\n",
	} {
		f.Add([]byte(head + start + end))
	}
	run := analysis.New(results(), analysis.Options{})
	f.Fuzz(func(t *testing.T, src []byte) {
		all, err := Load(src, "figures/a.yaml", func(string) (study.Study, error) { return study.Study{}, os.ErrNotExist })
		if err != nil {
			return
		}
		for _, fig := range all {
			if fig.ID == "" || fig.Chart == "" {
				t.Errorf("loaded without id or chart: %+v", fig)
			}
			r, err := fig.Of(run)
			if err != nil {
				continue
			}
			for _, look := range []Look{{}, {SD: true}, {Absolute: true}} {
				if svg, err := r.SVG(look, nil); (err == nil) != (svg != "") {
					t.Errorf("%d bytes of SVG, %v", len(svg), err)
				}
			}
		}
	})
}
