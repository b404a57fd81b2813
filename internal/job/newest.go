package job

import (
	"os"
	"path/filepath"
	"time"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/store"
)

// maxLooked is how many entries Newest looks at: it looks in the user's own directories, which can hold many files.
const maxLooked = 10_000

// Newest returns the directory of the run or the series that began last, among those in the directory where weir puts
// runs and those in the working directory.
func Newest() (string, error) {
	newest, begun := "", time.Time{}
	for _, parent := range []string{resultsDir, "."} {
		entries, _ := os.ReadDir(parent) // none without it
		for _, e := range entries[:min(len(entries), maxLooked)] {
			dir := filepath.Join(parent, e.Name())
			if !e.IsDir() { // nor a link: what it leads to can be another user's
				continue
			}
			at, ok := store.Begun(dir)
			if ok && at.After(begun) {
				newest, begun = dir, at
			}
		}
	}
	if newest == "" {
		return "", failure.Usage.Errorf("no run below %s or this directory: weir run makes one; of another, name the directory", resultsDir)
	}
	return newest, nil
}
