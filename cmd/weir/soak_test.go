package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// What make soak sets. See docs/soak.md.
var (
	soakMinutes = flag.Float64("soak", 0, "minutes of faults over all targets; 0: only a sample")
	soakSeed    = flag.Uint64("soak-seed", 0, "seed of the first round; 0: a random one")
	soakScene   = flag.String("soak-scene", "", "only scenes whose name, followed by $, begins so")
	soakRounds  = flag.Int("soak-rounds", 0, "rounds to play; 0: as many as time allows")
	soakStage   = flag.String("soak-stage", "", "the stage that this process runs in (see stages)")
	soakTally   = flag.String("soak-tally", "", "file for the tally of a stage")
	soakKills   = flag.Bool("soak-kills", false, "a round is two processes of one run killed")
	soakPage    = flag.String("soak-page", "", "page whose last part becomes the table")
)

// A stage is where scenes play, alongside the other stages: each has processes and devices of its own. Machines and
// clusters exist only as long as a command runs, in which this program starts again.
type stage struct {
	name    string
	share   float64  // of the time, from its beginning
	command []string // empty: this machine
	workers int
}

var stages = []stage{
	{"here", 1, nil, 8},
	{"hosts", 1, []string{"../../scripts/hosts", "a,b"}, 1}, // one run at a time: leftovers are all that is new on the machines
	{"cluster", 0.4, []string{"../../scripts/kube"}, 4},     // then it empties (see emptied)
	{alone, 1, ownHost, 1},                                  // one run at a time: all that is new on the machine is its
}

// sweeping is the name of the scene in which system calls fail.
const sweeping = "system calls"

// A tally counts what happened to each scene.
type tally struct {
	sync.Mutex `json:"-"`
	Rounds     map[string]int            `json:"rounds"`  // by scene
	Faults     map[string]map[string]int `json:"faults"`  // by scene and fault
	Trials     map[string]int            `json:"trials"`  // by scene, that were in a directory at the end of its round
	Wrong      map[string]int            `json:"wrong"`   // by scene, rounds that failed
	Missing    map[string]string         `json:"missing"` // why a scene cannot play here
	Calls      int                       `json:"calls"`   // that were made to fail
	Units      [2]int                    `json:"units"`   // of the sweep: tried, all
}

func newTally() *tally {
	return &tally{Rounds: map[string]int{}, Faults: map[string]map[string]int{}, Trials: map[string]int{}, Wrong: map[string]int{}, Missing: map[string]string{}}
}

func (c *tally) fault(scene, fault string) {
	c.Lock()
	defer c.Unlock()
	if c.Faults[scene] == nil {
		c.Faults[scene] = map[string]int{}
	}
	c.Faults[scene][fault]++
}

// add adds the tally of another stage, whose scenes are others.
func (c *tally) add(d *tally) {
	maps.Copy(c.Rounds, d.Rounds)
	maps.Copy(c.Faults, d.Faults)
	maps.Copy(c.Trials, d.Trials)
	maps.Copy(c.Wrong, d.Wrong)
	maps.Copy(c.Missing, d.Missing)
}

// Whatever fails at whatever moment, nothing is lost, nothing is measured twice, and nothing is left.
func TestSoak(t *testing.T) {
	needLab(t)
	switch {
	case *soakStage != "":
		b := stages[slices.IndexFunc(stages, func(b stage) bool { return b.name == *soakStage })]
		count := newTally()
		b.play(t, count, time.Duration(*soakMinutes*float64(time.Minute)))
		out, err := json.Marshal(count)
		if err == nil {
			err = os.WriteFile(*soakTally, out, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	case *soakMinutes == 0:
		t.Parallel()
		if testing.Short() {
			t.Skip("slow: run without -short")
		}
		*soakRounds, *soakScene, *soakSeed = 5, "lab", 1
		stages[0].play(t, newTally(), time.Minute)
		return
	}
	if *soakSeed == 0 {
		*soakSeed = 1 + rand.Uint64N(1e9)
	}
	t.Logf("the first round has seed %d", *soakSeed)
	count := newTally()
	whole := time.Duration(*soakMinutes * float64(time.Minute))
	before := take(shared...)
	begun := time.Now()
	var all sync.WaitGroup
	var parts []*tally
	for _, b := range stages {
		if len(b.scenes()) == 0 || b.name == alone && os.Geteuid() != 0 { // nobody else changes a machine
			continue
		}
		part, play := newTally(), b.play
		if b.command != nil {
			play = func(t *testing.T, part *tally, d time.Duration) {
				b.enter(t, part, d, "-soak", fmt.Sprint(d.Minutes()), "-soak-seed", fmt.Sprint(*soakSeed), "-soak-scene", *soakScene, "-soak-rounds", fmt.Sprint(*soakRounds))
			}
		}
		parts = append(parts, part)
		all.Go(func() { play(t, part, time.Duration(b.share*float64(whole))) })
	}
	if strings.HasPrefix(sweeping, *soakScene) {
		sweep(t, count, whole)
	}
	all.Wait()
	before.same(t)
	for _, part := range parts {
		count.add(part)
	}
	table := count.table(time.Since(begun))
	t.Log("\n" + table)
	if *soakPage != "" {
		replaceTable(t, *soakPage, table)
	}
}

// enter plays the scenes of a stage, within d, in a command that makes it. flags are this program's.
func (b stage) enter(t *testing.T, count *tally, d time.Duration, flags ...string) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tally")
	args := append(slices.Clone(b.command[1:]), exe, "-test.run", "^TestSoak$", "-test.timeout", "0", "-test.parallel", fmt.Sprint(b.workers), "-soak-stage", b.name, "-soak-tally", file)
	ctx, cancel := context.WithTimeout(t.Context(), d+emptied+10*time.Minute) // it starts, and its last rounds end
	defer cancel()
	cmd := exec.CommandContext(ctx, b.command[0], append(args, flags...)...)
	cmd.Env = append(os.Environ(), "TALLY="+filepath.Dir(file))
	cmd.WaitDelay = patience
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 3 { // of the script: it cannot make its machines here
		for _, s := range b.scenes() {
			count.Missing[s.name] = strings.TrimSpace(string(out[:min(len(out), 200)]))
		}
		return
	}
	if err != nil {
		t.Errorf("stage %s: %v\n%s", b.name, err, out)
	}
	part := newTally()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, part)
	}
	if err != nil {
		t.Errorf("stage %s: %v", b.name, err)
		return
	}
	count.add(part)
}

// scenes returns the scenes of a stage that are asked for.
func (b stage) scenes() (all []scene) {
	for _, s := range scenes {
		if s.stage == b.name && strings.HasPrefix(s.name+"$", *soakScene) {
			all = append(all, s)
		}
	}
	return all
}

// play plays rounds until the time is up. The scene of a round and all that happens in it follow from its
// seed, whatever time there is and whatever else can play here.
func (b stage) play(t *testing.T, count *tally, d time.Duration) {
	all := b.scenes()
	weights, sum, able := make([]int, len(all)), 0, 0
	for i, s := range all {
		sum += s.weight
		weights[i] = sum
		if why := s.lacks(); why != nil {
			count.Missing[s.name] = why.Error()
		} else {
			able++
		}
	}
	if able == 0 {
		t.Logf("no scene of %s can play: %v", b.name, count.Missing)
		return
	}
	late := time.Now().Add(d)
	next := make(chan uint64)
	go func() {
		defer close(next)
		// Ten rounds that went wrong are enough to look at.
		for n := 0; time.Now().Before(late) && (*soakRounds == 0 || n < *soakRounds) && count.wrong() < 10; n++ {
			next <- *soakSeed + uint64(n)
		}
	}()
	t.Run(b.name, func(t *testing.T) {
		for w := range b.workers {
			t.Run(fmt.Sprint(w), func(t *testing.T) {
				t.Parallel()
				for seed := range next {
					draw := rand.New(rand.NewPCG(seed, 0)).IntN(sum)
					s := all[slices.IndexFunc(weights, func(w int) bool { return draw < w })]
					if count.Missing[s.name] != "" { // nothing writes to it any more
						continue
					}
					ok := t.Run(fmt.Sprintf("%s-%d", s.name, seed), func(t *testing.T) { s.round(t, seed, count) })
					if !ok {
						t.Logf("to play this round again: make soak SEED=%d ROUNDS=1 SCENE='%s'", seed, s.name)
					}
					count.round(s.name, ok)
				}
			})
		}
	})
	if b.name == "cluster" {
		emptyCluster(t)
	}
}

func (c *tally) round(scene string, ok bool) {
	c.Lock()
	defer c.Unlock()
	c.Rounds[scene]++
	if !ok {
		c.Wrong[scene]++
	}
}

func (c *tally) wrong() (n int) {
	c.Lock()
	defer c.Unlock()
	for _, w := range c.Wrong {
		n += w
	}
	return n
}

// table returns what happened, as Markdown.
func (c *tally) table(took time.Duration) string {
	kinds := []string{}
	all, rounds, trials, wrong := map[string]int{}, 0, 0, 0
	for _, f := range c.Faults {
		for kind, n := range f {
			all[kind] += n
		}
	}
	for _, f := range blows {
		if all[f.name] > 0 {
			kinds = append(kinds, f.name)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| scene | rounds | %s | trials | rounds gone wrong |\n|%s\n", strings.Join(kinds, " | "), strings.Repeat("---|", len(kinds)+4))
	sum := 0
	row := func(name string, rounds int, faults map[string]int, trials, wrong int) {
		fmt.Fprintf(&b, "| %s | %d |", name, rounds)
		for _, k := range kinds {
			fmt.Fprintf(&b, " %d |", faults[k])
		}
		fmt.Fprintf(&b, " %d | %d |\n", trials, wrong)
	}
	for _, s := range scenes {
		if c.Rounds[s.name] > 0 {
			row(s.name, c.Rounds[s.name], c.Faults[s.name], c.Trials[s.name], c.Wrong[s.name])
			rounds, trials, wrong = rounds+c.Rounds[s.name], trials+c.Trials[s.name], wrong+c.Wrong[s.name]
		}
	}
	row("all", rounds, all, trials, wrong)
	for _, n := range all {
		sum += n
	}
	fmt.Fprintf(&b, "\nIn %v from seed %d: %d faults, and %d system calls that failed (%d of the %d places of the sweep).\n", took.Round(time.Minute), *soakSeed, sum, c.Calls, c.Units[0], c.Units[1])
	for _, name := range slices.Sorted(maps.Keys(c.Missing)) {
		fmt.Fprintf(&b, "Not played: %s: %s\n", name, strings.ReplaceAll(c.Missing[name], "\n", " "))
	}
	return b.String()
}

// tableMark begins the part of a page that replaceTable replaces.
const tableMark = "<!-- made by make soak -->\n"

func replaceTable(t *testing.T, page, table string) {
	t.Helper()
	b, err := os.ReadFile(page)
	text, _, ok := strings.Cut(string(b), tableMark)
	if err == nil && !ok {
		err = fmt.Errorf("%s: no line %q", page, tableMark)
	}
	if err == nil {
		err = os.WriteFile(page, []byte(text+tableMark+"\n"+table), 0o666)
	}
	if err != nil {
		t.Error(err)
	}
}
