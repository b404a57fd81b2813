package analysis

import "github.com/weir-bench/weir/record"

// episodes counts the episodes, the parts of a run between two builds of its networks, in which something was
// measured; 0 if none is recorded, as in older runs.
func episodes(results []record.Result) int {
	numbers := map[int]bool{}
	for _, r := range results {
		if n, ok := record.Episode.Get(r.Observed); ok && r.Status == record.OK {
			numbers[n] = true
		}
	}
	return len(numbers)
}
