package analysis

import "github.com/weir-bench/weir/record"

// episode is the key of the number of a trial's episode, the part of a run between two builds of its
// networks. Older runs lack it.
const episode = "episode"

// episodes counts the episodes in which something was measured; 0 if none is recorded.
func episodes(results []record.Result) int {
	numbers := map[string]bool{}
	for _, r := range results {
		if n := r.Observed[episode]; n != "" && r.Status == record.OK {
			numbers[n] = true
		}
	}
	return len(numbers)
}
