package account

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/explain"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/imported"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

const (
	// StudyFile is where the commands of a report write the study: its readers do not have the run's directory.
	StudyFile = "study.yaml"
	// HostOfVM has the facts of a virtual machine's host, and exists only for runs in a virtual machine of weir's own.
	HostOfVM = "vm-host"
	// Refuting runs are in a directory of their own below the results that they test, which do not change.
	TestsDir     = "tests"
	VerdictsFile = "verdicts.json"
)

// Options say how a results directory is read.
type Options struct {
	KeepDisturbed bool // count disturbed trials even if the study excludes them
	Depth         Depth
}

// A Depth is how much of a results directory is read.
type Depth int

const (
	Evidence Depth = iota // all but what trials sampled inside their windows
	// Inside adds those samples, for reports and figures of one run: they are most of what a run of many trials needs of
	// memory, and a third of its time.
	Inside
	Numbers // without the raw files of trials, for an index of many runs
)

// Read reads a results directory, complete or not, and analyzes it. What cannot be read is among the problems; an error
// means that dir is no results directory, or that its study or its manifest of imported files cannot be read.
func Read(dir string, o Options) (*Account, error) {
	if err := fits(dir, store.Size(dir)); err != nil {
		return nil, err
	}
	c, stored, err := read(dir, o, analysis.Trim)
	if err != nil {
		return nil, err
	}
	if o.Depth == Numbers {
		return Of(c), nil
	}
	if c.Verdicts, err = ReadVerdicts(dir); err != nil {
		c.problem(lang.T("%v: no verdicts of refuting runs", err))
	}
	if !c.Unpaired { // a foreign file can have the same name
		c.readRaw(o.Depth == Inside)
		c.readProfiles(stored.Profiles)
		c.readTraces()
	}
	a := Of(c)
	a.damagedTimes()
	if c.Unpaired { // a claim is about a run of weir, and so is the history
		return a, nil
	}
	a.learn()
	shipped, err := claim.Shipped()
	if err != nil {
		return nil, err
	}
	a.Claims = claim.Judge(shipped, c.Spec, a.Analysis)
	for i := range a.Claims {
		a.Claims[i].From = dir
	}
	return a, nil
}

// Trials returns the results of a directory one at a time, in the order of the file, with nothing analyzed: it reads any
// number of them in little memory. The Contents have them without values.
func Trials(dir string) (Contents, iter.Seq2[*record.Result, error], error) {
	c, _, err := read(dir, Options{}, func(r *record.Result) { r.Values, r.Notes = nil, nil })
	return c, store.Again(dir, c.Results), err
}

// read reads what is stored and is about no trial, and the results, which trim makes smaller.
func read(dir string, o Options, trim func(*record.Result)) (c Contents, stored store.Contents, err error) {
	if stored, err = store.ReadTrimmed(dir, trim); err != nil {
		return c, stored, fmt.Errorf("cannot read results from %s: %w", dir, err)
	}
	c = Contents{Study: stored.Study, Results: stored.Results, Hosts: stored.Hosts, Dir: dir}
	for _, p := range stored.Problems {
		c.problem(lang.Text(p.Error()))
	}
	if by := measuredBy(c.Hosts); len(by) > 1 {
		c.problem(lang.T("parts of this run are by weir %s: versions can differ in their results; hosts/ has the facts of each part", strings.Join(by, ", ")))
	}
	if err = c.readStudy(stored, o.KeepDisturbed); err == nil {
		c.Command, err = command(stored)
	}
	return c, stored, err
}

// Reading takes memory of up to threeTimes the bytes of the results, measured with 18,000 and 100,000 trials, besides
// garbage, which the collector keeps within the rest.
const threeTimes = 3

// LargeSize is the size of results below which they fit anywhere, bytes.
const LargeSize = 64 << 20

// fits returns an error if results of so many bytes need more memory than there is: the kernel would end weir without a word.
func fits(dir string, size int) error {
	free, limit := rootless.Memory()
	if size < LargeSize || threeTimes*size < free {
		return nil
	}
	gib := func(n int) string { return prose.Fixed(float64(n)/(1<<30), 1) }
	return fmt.Errorf("%s: its %s GiB of results need about %s GiB of memory, and %s has %s GiB left; read them on a larger machine, or one trial after the other, without an analysis: weir report %s --format csv",
		dir, gib(size), gib(threeTimes*size), limit, gib(free), plan.ShellWord(dir))
}

func (c *Contents) problem(t lang.Text) { c.Problems = append(c.Problems, t) }

// readStudy reads the study and what a run stores next to it. With keep, disturbed trials count.
func (c *Contents) readStudy(from store.Contents, keep bool) (err error) {
	if from.Study == nil {
		return failure.Usage.Errorf("%s: cannot be read, and says what the results are of; copy the whole directory again", filepath.Join(c.Dir, StudyFile))
	}
	if c.Spec, err = study.Load(c.Study, filepath.Join(c.Dir, StudyFile)); err != nil {
		return err
	}
	s := &c.Spec
	s.KeepDisturbed = s.KeepDisturbed || keep
	c.Name, c.Question, c.Target, c.Seed = s.Name, s.Question, s.Target, strconv.FormatUint(s.Seed, 10)
	c.Options = experiment.Reading(*s)
	if c.Unpaired = from.Imported != nil; !c.Unpaired && s.Precision == 0 {
		c.Planned = s.Blocks * len(s.Cells(catalog.Applies)) * s.Pairs()
	}
	switch missing := c.Planned - len(c.Results); {
	case missing <= 0:
	case from.Damaged > 0 && missing <= from.Damaged:
		c.problem(lang.T("only %d of %d trials, because results.jsonl is damaged (bad lines: %d); copy the file again, or measure their trials again: weir run --resume %s", len(c.Results), c.Planned, from.Damaged, plan.ShellWord(c.Dir)))
	default:
		c.problem(lang.T("only %d of %d trials: the run was stopped, or goes on; weir run --resume %s continues it", len(c.Results), c.Planned, plan.ShellWord(c.Dir)))
	}
	var probes []catalog.Described
	if !c.decode("probes.json", from.Probes, &probes, lang.T("using the words of this version")) {
		probes = catalog.Describe(*s)
	}
	c.Words = Words{}
	for _, p := range probes {
		c.Words[p.Name] = p.Info
	}
	if from.Others != nil {
		c.Others = new(analysis.Others)
		c.decode("others.json", from.Others, c.Others, lang.T("other programs cannot be named"))
	}
	c.decode(store.MachinesFile, from.Machines, &c.Machines, lang.T("hosts have numbers instead of names"))
	return nil
}

// damagedTimes names the trials whose response times cannot be read: their percentiles lack them.
func (a *Account) damagedTimes() {
	var trials []string
	for _, t := range a.Analysis.Tables {
		for _, r := range t.Rows {
			trials = append(trials, r.Unreadable...)
		}
	}
	if n := len(trials); n > 0 {
		slices.Sort(trials)
		a.problem(lang.T("results.jsonl: damaged histograms of response times: %d (%s), which percentiles leave out; copy the file again, or repeat the run: weir run %s", n, analysis.Examples(trials), plan.ShellWord(filepath.Join(a.Dir, StudyFile))))
	}
}

// decode decodes a stored file; false if it is missing or damaged, and the problem then says what is done without it.
func (c *Contents) decode(file string, b []byte, v any, without lang.Text) bool {
	if b == nil {
		return false
	}
	err := bounds.JSON(b, v)
	if err != nil {
		c.problem(lang.T("%s: %v: %s", file, err, without))
	}
	return err == nil
}

// command returns the command that repeats a run, or the last import; nil if an import has none.
func command(from store.Contents) ([]string, error) {
	if from.Imported != nil {
		var m imported.Manifest
		if err := bounds.JSON(from.Imported, &m); err != nil {
			return nil, fmt.Errorf("imported.json: %w", err)
		}
		if len(m.Commands) == 0 {
			return nil, nil
		}
		return slices.Clone(m.Commands[len(m.Commands)-1]), nil
	}
	argv := []string{"weir", "run", StudyFile}
	if _, guest := from.Hosts[HostOfVM]; guest {
		argv = append(argv, "--in-vm")
	}
	return argv, nil
}

// measuredBy returns the versions of weir that measured parts of a run, sorted.
func measuredBy(hosts map[string][]byte) (all []string) {
	for _, b := range hosts {
		var by struct{ Weir string }
		if bounds.JSON(b, &by) == nil && by.Weir != "" {
			all = append(all, by.Weir)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ReadVerdicts returns the verdicts that are stored below a results directory; none if no run has tested it.
func ReadVerdicts(dir string) ([]explain.Verdict, error) {
	b, err := foreign.ReadFile(filepath.Join(dir, TestsDir, VerdictsFile), bounds.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	vs, err := explain.ParseVerdicts(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; move it away, and weir explain --test writes another", filepath.Join(TestsDir, VerdictsFile), err)
	}
	return vs, nil
}
