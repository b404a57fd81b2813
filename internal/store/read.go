package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/record"
)

// Contents is the content of a results directory.
type Contents struct {
	Study  []byte // study.yaml; nil when it is missing
	Probes []byte // probes.json; nil when it is missing, as in older runs
	Others []byte // others.json; nil when it is missing
	// Machines is machines.json; nil when the run built its networks.
	Machines []byte
	// Imported is imported.json; nil when a run measured the results.
	Imported []byte
	Results  []record.Result
	Profiles []record.Result   // of the trials that were profiled; Results does not hold them
	Hosts    map[string][]byte // by name
	// Problems lists what could not be read. The rest is complete.
	Problems []error
	// Damaged counts the whole lines of Results that could not be read, or hold what no run measures.
	Damaged int
}

// Read reads a results directory without changing it, even during a run or after one was killed; an
// incomplete last line is then one of the Problems. An error means that dir is not a results
// directory.
func Read(dir string) (Contents, error) { return ReadTrimmed(dir, whole) }

// Again reads the results of dir again, one at a time. counted are the results that Read returned, perhaps trimmed. An
// error ends the sequence.
func Again(dir string, counted []record.Result) iter.Seq2[*record.Result, error] {
	return func(yield func(*record.Result, error) bool) {
		f, err := foreign.Open(filepath.Join(dir, resultsFile), maxResults)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		left := counted
		for r := range record.All(f, f.Name()) {
			if r == nil || len(left) == 0 || r.Trial != left[0].Trial || r.Status != left[0].Status || !r.Start.Equal(left[0].Start) {
				continue
			}
			if left = left[1:]; !yield(r, nil) {
				return
			}
		}
		if len(left) > 0 {
			yield(nil, fmt.Errorf("%s: trial %q is gone: the file changed while it was read; read it again", f.Name(), left[0].Trial))
		}
	}
}

// Size returns the bytes of the results in dir; 0 without any.
func Size(dir string) int {
	info, err := os.Stat(filepath.Join(dir, resultsFile))
	if err != nil {
		return 0
	}
	return int(info.Size())
}

// whole takes nothing from a result.
func whole(*record.Result) {}

// ReadTrimmed is Read, where trim takes from each result what its reader does not need before the next one is read.
func ReadTrimmed(dir string, trim func(*record.Result)) (Contents, error) {
	c := Contents{}
	study, studyErr := foreign.ReadFile(filepath.Join(dir, studyFile), bounds.MaxFile)
	f, err := foreign.Open(filepath.Join(dir, resultsFile), maxResults)
	if err != nil && studyErr != nil {
		return c, fmt.Errorf("%s: not a results directory: %w", dir, errors.Join(studyErr, err))
	}
	c.Study = study
	c.note(studyErr)
	optional := func(name string) []byte { return c.decodable(filepath.Join(dir, name)) }
	c.Probes, c.Others, c.Machines, c.Imported = optional(probesFile), optional(othersFile), optional(MachinesFile), optional(importFile)
	if f, err := foreign.Open(filepath.Join(dir, ProfilesFile), maxRaw); err == nil {
		profiles, problems, _ := readResults(f, f.Name(), trim)
		f.Close()
		c.Profiles = profiles
		c.note(problems...)
	} else if !errors.Is(err, fs.ErrNotExist) {
		c.note(err)
	}
	c.note(err)
	if err == nil {
		defer f.Close()
		results, problems, damaged := readResults(f, f.Name(), trim)
		c.Results, c.Damaged = results, damaged
		c.note(problems...)
	}
	c.readHosts(filepath.Join(dir, "hosts"))
	return c, nil
}

func (c *Contents) note(errs ...error) {
	for _, err := range errs {
		if err != nil {
			c.Problems = append(c.Problems, err)
		}
	}
}

// decodable reads a JSON file whose values have a bound; nil if there is none.
func (c *Contents) decodable(file string) []byte {
	b, err := foreign.ReadFile(file, bounds.MaxFile)
	if err == nil {
		if err = bounds.File(b); err == nil {
			return b
		}
		err = fmt.Errorf("%s: %w", file, err)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		c.note(err)
	}
	return nil
}

// Bounds of facts: the bytes of all hosts, and the values of one. One has 10 kB and 500 values, more with many devices.
const (
	maxHosts      = 16 << 20
	maxHostValues = 20_000
)

func (c *Contents) readHosts(dir string) {
	c.Hosts = map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		c.note(err)
	}
	size := 0
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || strings.HasPrefix(name, ".") {
			continue // foreign, or a file that WriteFile has not finished
		}
		b := c.decodable(filepath.Join(dir, e.Name()))
		if err := bounds.Values(b, maxHostValues); err != nil {
			c.note(fmt.Errorf("%s: %w", filepath.Join(dir, e.Name()), err))
			continue
		}
		if size += len(b); size > maxHosts {
			c.note(fmt.Errorf("%s: the facts of all machines have more than %d bytes: the others are left out", dir, maxHosts))
			return
		}
		if b != nil {
			c.Hosts[name] = b
		}
	}
}

// maxValue bounds the values of a result: sums and squares of more would be infinite.
const maxValue = 1e150

// maxText bounds a text of a result, which can be the end of what a program printed, and maxWord one that reports
// repeat for each of its values. Both are bytes, and ten times what a run writes.
const (
	maxText = 64 << 10
	maxWord = 4 << 10
)

// countable returns an error if a result has a value that no statistic can hold, or a text that no report can.
func countable(r *record.Result, file string) error {
	long := len(r.Reason) > maxText || len(r.Trial) > maxWord || len(r.Status) > maxWord
	for k, v := range r.Config {
		long = long || len(k) > maxWord || len(v) > maxWord
	}
	for k, v := range r.Observed {
		long = long || len(k) > maxWord || len(v) > maxText
	}
	if long {
		return fmt.Errorf("%s: trial %.40q does not count: it has a name of more than %d bytes, or a text of more than %d", file, r.Trial, maxWord, maxText)
	}
	for _, v := range r.Values {
		if len(v.Name) > maxWord || len(v.Unit) > maxWord {
			return fmt.Errorf("%s: trial %q does not count: a value's name or unit has more than %d bytes", file, r.Trial, maxWord)
		}
		if !(math.Abs(v.Value) <= maxValue) {
			return fmt.Errorf("%s: trial %q does not count: its %.40q is %g, beyond ±%g", file, r.Trial, v.Name, v.Value, maxValue)
		}
		if v.Value < 0 && slices.Contains(neverNegative, v.Name) {
			return fmt.Errorf("%s: trial %q does not count: its %s is %g %s, and no probe measures less than 0", file, r.Trial, v.Name, v.Value, v.Unit)
		}
	}
	return nil
}

// neverNegative lists what probes measure. Differences of counters, such as CPU time beyond idle use, can be negative.
var neverNegative = []record.Quantity{record.Throughput, record.PacketRate, record.Delivered, record.Transactions, record.Capacity, record.Goodput, record.Bandwidth,
	record.RTT, record.RTTPlain, record.RTTMin, record.RTTMean, record.RTTMax, record.RTTPath, record.RTTWake, record.RTTApp, record.RTTStamped,
	record.RTTConnect, record.RTTHandshake, record.HalfRTT, record.Loss, record.Jitter, record.Silence, record.Outage}

// maxExamples is how many trials with several lines, and how many bad lines, are named.
const maxExamples = 3

// readResults reads lines. Of two lines for one trial, the first counts, unless it says that nothing was
// measured: then the trial was tried again. Whole lines that are damaged do not count, and an incomplete last one is not damage.
func readResults(r io.Reader, file string, trim func(*record.Result)) (results []record.Result, problems []error, damaged int) {
	seen := map[string]int{} // index in results
	replaced, twiceMore, bad, newest := 0, 0, 0, false
	for res, err := range record.All(r, file) {
		if err == nil {
			err = countable(res, file)
		}
		if err != nil {
			newer := errors.Is(err, record.ErrNewer)
			if !newer && !errors.Is(err, io.ErrUnexpectedEOF) {
				damaged++
			}
			if bad++; bad <= maxExamples || newer && !newest {
				problems = append(problems, err)
			}
			newest = newest || newer
			continue
		}
		trim(res)
		switch i, twice := seen[res.Trial]; {
		case twice && !again(results[i]):
			if twiceMore++; twiceMore <= maxExamples {
				problems = append(problems, fmt.Errorf("%s: trial %q occurs twice: the first one counts", file, res.Trial))
			}
			continue
		case twice:
			results[i].Trial = "" // marks it; the new one keeps the order of time
			replaced++
		}
		seen[res.Trial] = len(results)
		results = append(results, *res)
	}
	if more := twiceMore - maxExamples; more > 0 {
		problems = append(problems, fmt.Errorf("%s: and %d more lines of trials that occur twice: the first ones count", file, more))
	}
	if more := bad - maxExamples; more > 0 {
		problems = append(problems, fmt.Errorf("%s: and %d more lines that cannot be read or do not count", file, more))
	}
	if replaced > 0 {
		results = slices.DeleteFunc(results, func(r record.Result) bool { return r.Trial == "" && again(r) })
	}
	return results, problems, damaged
}
