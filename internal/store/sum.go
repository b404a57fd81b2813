package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"

	"github.com/weir-bench/weir/internal/foreign"
)

// Sum identifies the numbers of the run or the series in dir: the SHA-256, in hexadecimal, of what sha256sum(1) prints
// in dir for results.jsonl and study.yaml of each run. Nothing else in dir changes it: reports can be written again.
func Sum(dir string) (string, error) {
	list, err := Sums(dir)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(list)
	return hex.EncodeToString(sum[:]), nil
}

// Sums is what sha256sum(1) prints in dir for the files that Sum is of: two lines for each run.
func Sums(dir string) ([]byte, error) {
	runs, err := Runs(dir)
	if err != nil {
		return nil, err
	}
	var list bytes.Buffer
	for _, run := range runs {
		below, err := filepath.Rel(dir, run)
		if err != nil {
			return nil, err
		}
		for _, name := range []string{resultsFile, studyFile} {
			sum, err := sumOf(filepath.Join(run, name), maxResults)
			if err != nil {
				return nil, fmt.Errorf("checksum: %w", err)
			}
			fmt.Fprintf(&list, "%s  %s\n", sum, filepath.Join(below, name))
		}
	}
	return list.Bytes(), nil
}

// sumOf returns the SHA-256 of a file, whose size is at most most bytes.
func sumOf(file string, most int64) (string, error) {
	f, err := foreign.Open(file, most)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, most)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
