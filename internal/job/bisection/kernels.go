package bisection

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/bisect"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/target/vm"
	"github.com/weir-bench/weir/record"
)

// Kernels returns the kernels that files or directories name, as vm.KernelAt reads them: two or more, all different.
func Kernels(names []string) (all []bisect.Kernel, err error) {
	if len(names) < 2 {
		return nil, failure.Usage.Errorf("%d of at least 2 kernels: give GOOD and BAD, and those between them in their order", len(names))
	}
	first := map[string]string{}
	for _, name := range names {
		k, err := vm.KernelAt(name)
		if err != nil {
			return nil, failure.Usage.Errorf("kernel %s: %w", name, err)
		}
		hash, err := hashOf(k.Image)
		if err != nil {
			return nil, failure.Environment.Of(err)
		}
		if other, ok := first[hash]; ok {
			return nil, failure.Usage.Errorf("%s is the same kernel as %s: give each once", name, other)
		}
		first[hash] = name
		all = append(all, bisect.Kernel{Version: k.Version, Image: k.Image, Modules: k.Modules, Hash: hash})
	}
	return all, nil
}

func hashOf(file string) (string, error) {
	f, err := foreign.Open(file, math.MaxInt64)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return fmt.Sprintf("%x", h.Sum(nil)), err
}

// unchanged returns an error if a kernel is not what it was when the search began.
func unchanged(k bisect.Kernel) error {
	hash, err := hashOf(k.Image)
	if err == nil && hash != k.Hash {
		err = fmt.Errorf("%s has changed since the search began: put it back, or begin another search with another -o", k.Image)
	}
	return failure.Environment.Of(err)
}

// askedKernels stores which kernels to search.
func askedKernels(out *bisect.Outcome) {
	all := out.Guests.Kernels
	out.Build, out.Good, out.Bad = []string{}, all[0].Hash, all[len(all)-1].Hash
	for _, k := range all[1:] {
		out.Commits = append(out.Commits, bisect.Commit{Hash: k.Hash, Subject: k.Image})
	}
}

// sidesOf describes the guests or nodes that were asked for; it is equal for the same search.
func sidesOf(o bisect.Outcome) string {
	g := cmp.Or(o.Guests, &bisect.Guests{})
	asked := *g
	asked.Emulated = false
	j, _ := json.Marshal([]any{asked, o.Nodes}) // strings and numbers
	return string(j)
}

// pairs compares two kernels, or groups of nodes, by pairs of runs, one right after the other in random order. Both
// kernels boot for each pair, so that what a boot decides, such as where the kernel lies in memory, is part of how much
// the pairs differ.
func (b *bisection) pairs(ctx context.Context, dir string, base, other int) (x ratio, err error) {
	seed := sha256.Sum256([]byte(b.out.Good + b.out.Bad))
	rng := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(seed[:]), uint64(len(b.out.Steps))))
	candidates := []int{base, other}
	var ratios []float64
	var ways [][]float64 // in each direction
	for n := range b.out.Pairs() {
		var values [2][]float64
		for _, i := range rng.Perm(2) {
			run := filepath.Join(b.Dir, dir, b.out.RunDir(n+1, b.out.Hash(candidates[i])))
			a, why, err := b.once(ctx, run, candidates[i])
			if err != nil {
				return ratio{}, err
			}
			if why != "" {
				return ratio{}, b.skip(candidates[i], why)
			}
			if values[i] = b.values(a, &x); values[i] == nil || ways != nil && len(values[i]) != len(ways) {
				return ratio{}, b.skip(candidates[i], whyNone(a))
			}
			if ways == nil {
				ways = make([][]float64, len(values[i]))
			}
		}
		logs := 0.0
		for w := range ways {
			one := values[1][w] / values[0][w]
			ways[w], logs = append(ways[w], one), logs+math.Log(one)
		}
		ratios = append(ratios, math.Exp(logs/float64(len(ways))))
		b.Tell.Say(lang.T("pair %d of %d: ratio %.3f", n+1, b.out.Pairs(), ratios[n]))
	}
	x.Interval = stat.LogMean(ratios, confidence)
	for _, of := range ways {
		if len(ways) > 1 {
			x.ways = append(x.ways, stat.LogMean(of, confidence))
		}
	}
	return x, nil
}

// values returns what a run measured, separately for each direction if it measured several: the mean would hide what
// limits only one of them. It is nil unless each has a value above 0. It stores in x which value it is.
func (b *bisection) values(a *account.Account, x *ratio) (out []float64) {
	runs, several := a.Analysis.Ways()
	if !several {
		runs = []*analysis.Run{a.Analysis}
	}
	for _, run := range runs {
		t, row := rowOf(run, b.Study.Networks[0].Name)
		if row == nil || row.Value.N == 0 || row.Value.Center <= 0 {
			return nil
		}
		out, x.metric, x.unit = append(out, row.Value.Center), t.Metric, t.Unit
	}
	return out
}

// once completes the run of a candidate, or says why it cannot.
func (b *bisection) once(ctx context.Context, dir string, candidate int) (a *account.Account, why string, err error) {
	if b.out.Nodes != nil {
		a, err = b.nodes(ctx, dir, b.out.Nodes.Groups[candidate])
		return a, "", err
	}
	a, err = b.guest(ctx, dir, b.out.Guests.Kernels[candidate])
	if why := lastWords(err); why != "" && ctx.Err() == nil {
		return nil, why, nil
	}
	if err == nil {
		b.out.Guests.Emulated = b.out.Guests.Emulated || emulated(a)
	}
	return a, "", err
}

// confidence is the confidence of the interval of each single comparison.
const confidence = 0.95

// whyNone is why no trial of a run counts.
func whyNone(a *account.Account) (why string) {
	why = "no trial has a value"
	for _, r := range a.Results {
		if r.Reason != "" {
			why = r.Reason
		}
	}
	return why
}

func emulated(a *account.Account) bool {
	for _, r := range a.Results {
		if record.Guest.Of(r.Observed) == "qemu-tcg" {
			return true
		}
	}
	return false
}

// lastWords says why a guest ended, with the last line of its console; "" if err has another cause.
func lastWords(err error) string {
	var lost vm.Lost
	var left insideError
	switch {
	case errors.As(err, &left):
		return left.Error()
	case !errors.As(err, &lost):
		return ""
	case lost.Console == "":
		return lost.Why.Error()
	}
	return fmt.Sprintf("%v; its last words: %s", lost.Why, lastLine([]byte(lost.Console)))
}

// An insideError is why a guest that booted cannot complete a run: the last line of the weir in it.
type insideError string

func (e insideError) Error() string {
	return cmp.Or(string(e), "weir failed in its guest, and did not say why")
}

// inGuest completes a run in a guest, from this process, so that it can tell a lost guest from other errors.
func (b *bisection) inGuest(ctx context.Context, dir string, k bisect.Kernel) (*account.Account, error) {
	var said tailOf
	machine := func() (vm.Machine, error) {
		found, err := vm.KernelAt(k.Image + ":" + k.Modules)
		return vm.Machine{Kernel: found, CPUs: b.out.Guests.CPUs, Memory: b.out.Guests.Memory}, failure.Environment.Of(err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return nil, failure.Environment.Of(err)
	}
	caller := b.Caller
	caller.Tell = quiet{}
	a, err := job.Complete(ctx, job.RunOptions{Caller: caller, At: place.Lab, Study: b.Study, Dir: dir, ResumeCmd: b.again(), VM: &job.VM{Machine: machine, Stdout: io.Discard, Stderr: &said}}, false)
	if err != nil && err.Error() == "" { // failure.Ended
		err = insideError(lastLine(said))
	}
	return a, err
}

// quiet prints nothing about a run: the search prints the outcome.
type quiet struct{}

func (quiet) Say(lang.Text)     {}
func (quiet) Warn(...lang.Text) {}
func (quiet) Note(lang.Text)    {}

// A tailOf keeps the end of what is written to it.
type tailOf []byte

func (t *tailOf) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	*t = (*t)[max(0, len(*t)-4096):]
	return len(p), nil
}
