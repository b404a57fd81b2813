// Bench compares the engine with other tools and with a minimal program in C, and the intervals that weir
// prints with the truth. It is weir with a few more probes, so its studies run, resume and report as all
// studies do:
//
//	go run ./bench run bench/engine.yaml -o DIR
//
// It writes pages about their results, in Markdown:
//
//	go run ./bench -record DIR > bench/runs/DATE.json
//	go run ./bench -engine bench/runs > docs/benchmarks.md
//	go run ./bench -coverage [-truth DIR] DIR... > docs/coverage.md
//
// One experiment measures what no study can state, the time until a network is ready:
//
//	go run ./bench -startup 10 > docs/startup.csv
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/cli"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
)

func init() { runtime.LockOSThread() } // see package netns

func main() {
	maps.Copy(catalog.Probes, probes)
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") { // in the lab, too, this program stands for weir
		os.Exit(cli.Main("bench", os.Args[1:]))
	}
	recording := flag.String("record", "", "print what the page needs of the run of bench/engine.yaml in this `directory`")
	engine := flag.String("engine", "", "print the page about the recorded runs in this `directory`")
	covering := flag.Bool("coverage", false, "print how often the intervals of the runs in directories cover the truth")
	truth := flag.String("truth", "", "with -coverage: `directory` of the runs that know the truth (default: the same)")
	rounds := flag.Int("startup", 0, "measure in so many `rounds` the time until each network is ready, and print CSV")
	flag.Parse()
	err := errors.New("nothing to do; see go doc ./bench")
	switch {
	case *recording != "":
		err = writeRecord(os.Stdout, *recording)
	case *engine != "":
		err = writeEngine(os.Stdout, *engine)
	case *covering:
		err = writeCoverage(os.Stdout, *truth, flag.Args()...)
	case *rounds > 0:
		err = inLab(func(ctx context.Context) error { return startup(ctx, *rounds, os.Stdout) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// inLab calls do in namespaces in which it can build networks.
func inLab(do func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if !rootless.Inside() {
		code, err := rootless.Reexec(ctx)
		if err == nil {
			os.Exit(code)
		}
		return err
	}
	if err := rootless.Setup(); err != nil {
		return err
	}
	return do(ctx)
}

// A series is the separate runs of a study in one directory.
type series struct {
	study study.Study
	host  facts.Facts
	runs  []*analysis.Run
	begin time.Time     // of the first trial
	took  time.Duration // until the last one began
}

// read reads a directory of runs.
func read(dir string) (s series, err error) {
	dirs, err := store.Runs(dir)
	if err != nil {
		return s, err
	}
	var end time.Time
	for _, d := range dirs {
		c, err := store.Read(d)
		if err != nil {
			return s, err
		}
		if s.study, err = study.Load(c.Study, filepath.Join(d, "study.yaml")); err != nil {
			return s, err
		}
		_ = json.Unmarshal(c.Hosts["local"], &s.host) // a page without its machine is better than none
		for _, r := range c.Results {
			if s.begin.IsZero() || r.Start.Before(s.begin) {
				s.begin = r.Start
			}
			if r.Start.After(end) {
				end = r.Start
			}
		}
		s.runs = append(s.runs, analysis.New(c.Results, analysis.Options{Baseline: s.study.Baseline,
			Networks: study.Names(s.study.Networks), Probes: study.Names(s.study.Probes)}))
	}
	s.took = end.Sub(s.begin)
	return s, nil
}
