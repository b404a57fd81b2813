package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/record"
)

// againFile keeps the choice of blocks to measure again for a resumed run.
const againFile = "again.json"

// A repetition lists the disturbed blocks to measure again. The first one becomes block Planned+1.
type repetition struct {
	Planned int   `json:"planned"`
	Of      []int `json:"of"`
}

const (
	mostAgain = 4       // repetitions take at most 1/mostAgain of the blocks and of the time limit
	stillBusy = 1.0 / 3 // share of disturbed trials in a repetition that ends the repetitions
)

// again repeats disturbed blocks after the planned ones: whole blocks, because ratios pair values
// within a block. It stops when a repetition is disturbed too: then the machine is busy, and the
// disturbance is not a passing event. Neither the choice nor the end depends on measured values.
func (r *run) again(ctx context.Context) error {
	if r.Study.KeepDisturbed {
		return nil
	}
	planned := r.blocks
	results, err := r.Dir.Results()
	if err != nil {
		return err
	}
	d, err := r.repetition(results)
	if err != nil || len(d.Of) == 0 {
		return err
	}
	r.blocks += len(d.Of)
	for _, res := range results {
		r.loads = append(r.loads, analysis.Loads(res))
	}
	for i, of := range d.Of {
		b := planned + 1 + i
		r.repeated[b] = of
		if err := r.block(ctx, b); err != nil {
			return err
		}
		if analysis.DisturbedShare(r.loads, b) > stillBusy {
			r.tell(Event{Text: fmt.Sprintf("block %d (repeats block %d) was disturbed too: no more repetitions", b, of)})
			return nil
		}
	}
	return nil
}

// repetition decides once, from all results, what to repeat, and stores the decision if there is anything.
func (r *run) repetition(results []record.Result) (d repetition, err error) {
	b, err := r.stored(againFile)
	if err != nil {
		return d, err
	}
	if b != nil {
		unplanned := func(of int) bool { return of < 1 || of > r.blocks }
		if err := bounds.JSON(b, &d); err != nil || d.Planned != r.blocks || len(d.Of) > r.blocks || slices.ContainsFunc(d.Of, unplanned) {
			return d, fmt.Errorf("%s does not hold the blocks to measure again after %d: %q", againFile, r.blocks, b)
		}
		return d, nil
	}
	d = repetition{Planned: r.blocks, Of: analysis.BlocksToRepeat(results, Reading(r.Study))}
	d.Of = d.Of[:min(len(d.Of), r.room(results))]
	if len(d.Of) == 0 {
		return d, nil
	}
	if b, err = json.Marshal(d); err != nil {
		return d, err
	}
	r.tell(Event{Text: fmt.Sprintf("%d disturbed blocks will be measured again", len(d.Of))})
	return d, r.Dir.File(againFile, append(b, '\n'))
}

// stored returns a file of the run's directory that keeps a decision or a measurement; nil if there is
// none yet.
func (r *run) stored(file string) ([]byte, error) {
	b, err := r.Dir.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot continue without %s: %w", file, err)
	}
	return b, nil
}

// room returns how many blocks can be repeated: a quarter of the planned ones, in at most a quarter
// of the time limit and what the planned ones left of it.
func (r *run) room(results []record.Result) int {
	n := r.blocks / mostAgain
	if t := r.blockTime(results); r.Study.MaxTime > 0 && t > 0 {
		left := r.Study.MaxTime - time.Duration(r.blocks)*t
		n = min(n, int(r.Study.MaxTime/mostAgain/t), int(max(0, left)/t))
	}
	return n
}
