package experiment

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/record"
)

// blocksFile keeps the decision on the number of blocks, which a resumed run does not repeat.
const blocksFile = "blocks.json"

// A decision sets the number of blocks of a run with a target precision. It is made from the pilot
// and, because a pilot is small, once more at the planned end. Stopping as soon as an interval looks
// narrow enough would make it too narrow; one more look costs little (ADR 31).
type decision struct {
	Pilot  int `json:"pilot"`  // blocks used to estimate the spread
	Needed int `json:"needed"` // for the widest ratio that matters
	Blocks int `json:"blocks"` // blocks of the run: Needed, capped by time
	// Looks counts the times that the run looked at its intervals, 1 or 2. Older versions looked once
	// and wrote nothing: 0 is final.
	Looks int `json:"looks,omitempty"`
}

const (
	// maxBlocks ends a run that no number of blocks would make precise.
	maxBlocks = 1000
	// margin multiplies the needed blocks if they are more than the run has: otherwise half of the runs
	// would end just short of their precision, and those that end early would be the luckiest.
	margin = 1.35
)

// final reports whether the run ends after block b without another look.
func (d decision) final(b int) bool { return d.Looks != 1 || b == d.Pilot }

// look decides after block b, from the blocks that the precision needs and the most that fit into the
// time limit; 0 means no limit.
func (d decision) look(b, needed, fit int) decision {
	d.Looks++
	if d.Needed = needed; needed > b {
		d.Needed = int(math.Ceil(margin * float64(needed)))
	}
	d.Blocks = min(d.Needed, maxBlocks)
	if fit > 0 {
		d.Blocks = min(d.Blocks, fit)
	}
	d.Blocks = max(d.Blocks, b)
	return d
}

// decided returns the stored decision, if there is one.
func (r *run) decided() (d decision, known bool, err error) {
	d.Pilot = r.Study.Blocks
	text, err := r.stored(blocksFile)
	if text == nil || err != nil {
		return d, false, err
	}
	if err := bounds.JSON(text, &d); err != nil || d.Blocks < r.Study.Blocks {
		return d, false, fmt.Errorf("%s does not hold a decision on the number of blocks: %q", blocksFile, text)
	}
	return d, true, nil
}

// plan decides after block b, the last one planned, how many blocks the run has.
func (r *run) plan(b int) error {
	d, known, err := r.decided()
	if err != nil {
		return err
	}
	if known {
		if r.blocks = max(b, d.Blocks); d.Blocks > b || d.final(b) {
			return nil
		}
	}
	results, err := r.Dir.Results()
	if err != nil {
		return err
	}
	fit := 0
	if t := r.blockTime(results); r.Study.MaxTime > 0 && t > 0 {
		fit = max(1, int(r.Study.MaxTime/t))
	}
	d = d.look(b, r.needed(results), fit)
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	r.blocks = d.Blocks
	at := fmt.Sprintf("pilot of %d blocks", d.Pilot)
	if d.Looks == 2 {
		at = fmt.Sprintf("second look at %d blocks", b)
	}
	r.tell(Event{Text: fmt.Sprintf("%s: %d are needed for ±%.3g %%, %d will be run", at, d.Needed, r.Study.Precision*100, d.Blocks)})
	return r.Dir.File(blocksFile, append(text, '\n'))
}

// blockTime estimates the time of a block from the trials of this process or, when it resumes after
// the pilot, from all results. It is 0 when all were skipped.
func (r *run) blockTime(results []record.Result) time.Duration {
	seconds := 0.0
	if r.ran > 0 {
		seconds = time.Since(r.started).Seconds() / float64(r.ran) * float64(len(r.cells)*r.Study.Pairs())
	} else {
		for _, res := range results {
			seconds += res.Elapsed / float64(len(results))
		}
		seconds *= float64(len(r.cells) * r.Study.Turns()) // concurrent trials take the time of one
	}
	return time.Duration(seconds * float64(time.Second))
}

// needed returns how many blocks the widest ratio that matters needs.
func (r *run) needed(results []record.Result) int {
	pv := analysis.New(results, Reading(r.Study))
	n, ratios := 0, pv.Ratios()
	if r.Ratios != nil {
		ratios = r.Ratios(pv)
	}
	for ratio, confidence := range ratios {
		// Blocks without a pair, as after a failure, will be as frequent among those to come. A ratio that has none
		// yet counts as if it had one. A cell without any measured trial is not among the ratios: nothing says that
		// it can be measured.
		pairs := ratio.Needed(r.Study.Precision, confidence)
		n = max(n, int(math.Ceil(float64(pairs)*float64(pv.Blocks)/float64(max(1, ratio.N)))))
	}
	return n
}
