package cli

import (
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
)

// orNewest returns the directories that the user named or, if there are none, the directory of the newest run, and says so.
func orNewest(dirs []string) ([]string, error) {
	if len(dirs) > 0 {
		return dirs, nil
	}
	dir, err := job.Newest()
	if err != nil {
		return nil, err
	}
	tell.Note(lang.T("the newest run, %s", dir))
	return []string{dir}, nil
}
