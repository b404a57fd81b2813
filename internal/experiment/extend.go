package experiment

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
)

// blocksFile keeps the decision on the number of blocks, which a resumed run does not repeat.
const blocksFile = "blocks.json"

// A decision sets the number of blocks of a run with a target precision. It is made once, from the
// pilot: stopping as soon as an interval looks narrow enough would make it too narrow.
type decision struct {
	Pilot  int `json:"pilot"`  // blocks used to estimate the spread
	Needed int `json:"needed"` // by Stein's procedure, for the widest comparison
	Blocks int `json:"blocks"` // blocks of the run: Needed, capped by time
}

// maxBlocks ends a run that no number of blocks would make precise.
const maxBlocks = 1000

func (r *run) extend() error {
	if b, err := r.Dir.ReadFile(blocksFile); err == nil {
		var d decision
		if err := json.Unmarshal(b, &d); err != nil || d.Blocks < r.Study.Blocks {
			return fmt.Errorf("%s does not hold a decision on the number of blocks: %q", blocksFile, b)
		}
		r.blocks = d.Blocks
		return nil
	}
	d := decision{Pilot: r.Study.Blocks, Needed: r.needed()}
	d.Blocks = min(d.Needed, maxBlocks)
	if t := r.blockTime(); r.Study.MaxTime > 0 && t > 0 {
		d.Blocks = max(d.Pilot, min(d.Blocks, int(r.Study.MaxTime/t)))
	}
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	r.blocks = d.Blocks
	r.tell(Event{Text: fmt.Sprintf("pilot of %d blocks: %d are needed for ±%.3g %%, %d will be run",
		d.Pilot, d.Needed, r.Study.Precision*100, d.Blocks)})
	return r.Dir.File(blocksFile, append(b, '\n'))
}

// blockTime estimates the time of a block from the trials of this process or, when it resumes after
// the pilot, from stored ones. It is 0 when all were skipped.
func (r *run) blockTime() time.Duration {
	seconds := 0.0
	if r.ran > 0 {
		seconds = time.Since(r.started).Seconds() / float64(r.ran) * float64(len(r.cells)*r.Study.Pairs())
	} else {
		for _, res := range r.results {
			seconds += res.Elapsed / float64(len(r.results))
		}
		seconds *= float64(len(r.Study.Schedule(1, r.cells))) // concurrent trials take the time of one
	}
	return time.Duration(seconds * float64(time.Second))
}

// needed returns how many blocks the comparison with the largest spread needs.
func (r *run) needed() int {
	pv := analysis.New(r.results, analysis.Options{Baseline: r.Study.Baseline, KeepDisturbed: r.Study.KeepDisturbed})
	n := r.Study.Blocks
	for _, t := range pv.Tables {
		base := slices.IndexFunc(t.Rows, func(r analysis.Row) bool { return r.Baseline })
		for i, row := range t.Rows {
			if base >= 0 && i != base {
				a, b := analysis.Pair(t.Rows[base], row)
				n = max(n, stat.SteinPairs(a, b, r.Study.Precision, pv.Each))
			}
		}
	}
	return n
}
