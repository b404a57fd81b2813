package experiment

import (
	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/study"
)

// Planned returns how many trials a run of s has planned so far, by the files of its directory, which read
// returns. A run with a target precision plans more after its pilot, and one with disturbed blocks at its end.
func Planned(s study.Study, applies func(kind, factor string) bool, read func(name string) ([]byte, error)) int {
	blocks := s.Blocks
	var d decision
	if b, err := read(blocksFile); err == nil && bounds.JSON(b, &d) == nil {
		blocks = max(blocks, d.Blocks)
	}
	var again repetition
	if b, err := read(againFile); err == nil && bounds.JSON(b, &again) == nil {
		blocks += len(again.Of)
	}
	return blocks * len(s.Cells(applies)) * s.Pairs()
}
