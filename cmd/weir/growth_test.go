package main

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/nstest"
)

var growthHours = flag.Float64("growth", 0, "hours of one run whose resources are watched; 0: only a moment")

// resources are what a run uses, all its processes together, in the order of resourceNames.
type resources [6]float64

var resourceNames = [6]string{"memory, MB", "descriptors", "threads", "processes", "namespaces", "temporary files"}

// uses returns what the processes with an entry in their environment use now.
func uses(mark, tmp string) (u resources) {
	spaces := map[string]bool{}
	for _, pid := range marked(mark) {
		dir := fmt.Sprintf("/proc/%d/", pid)
		status, _ := os.ReadFile(dir + "status") // a process can be gone, here and below
		for line := range bytes.Lines(status) {
			f := strings.Fields(string(line))
			if len(f) < 2 {
				continue
			}
			n, _ := strconv.ParseFloat(f[1], 64) // those below are numbers
			switch f[0] {
			case "RssAnon:": // kB; the program's own pages are shared by all
				u[0] += n * 1024 / 1e6
			case "Threads:":
				u[2] += n
			}
		}
		fds, _ := os.ReadDir(dir + "fd")
		u[1] += float64(len(fds))
		u[3]++
		for _, ns := range namespaces(strconv.Itoa(pid)) {
			spaces[ns] = true
		}
	}
	files, _ := filepath.Glob(filepath.Join(tmp, "*"))
	u[4], u[5] = float64(len(spaces)), float64(len(files))
	return u
}

// sections is into how many parts a run is divided: means of parts are independent, samples that follow each other
// are not. quantile is that of Student's t for a line through as many, 0.975.
const (
	sections = 20
	quantile = 2.101 // 18 degrees of freedom
)

// slope fits a line through the means of sections of samples. x is where the samples were taken.
func slope(x, y []float64) (per, half float64) {
	var bx, by []float64
	for b := range sections {
		from, to := b*len(x)/sections, (b+1)*len(x)/sections
		bx, by = append(bx, mean(x[from:to])), append(by, mean(y[from:to]))
	}
	mx, my := mean(bx), mean(by)
	var sxx, sxy, rest float64
	for i := range bx {
		sxx += (bx[i] - mx) * (bx[i] - mx)
		sxy += (bx[i] - mx) * (by[i] - my)
	}
	per = sxy / sxx
	for i := range bx {
		e := by[i] - my - per*(bx[i]-mx)
		rest += e * e
	}
	return per, quantile * math.Sqrt(rest/(sections-2)/sxx)
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// fewest is how many trials show whether a run grows with them.
const fewest = 100

// perTrial is what a run may keep in memory of each trial, bytes: that it is done. Results are 4 to 17 kB.
const perTrial = 1 << 10

// One run uses no more after thousands of trials than at its beginning.
func TestGrowth(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	if *growthHours == 0 {
		t.Parallel()
	}
	length, every := 8*time.Second, 50*time.Millisecond
	if *growthHours > 0 {
		length = time.Duration(*growthHours * float64(time.Hour))
		every = min(10*time.Second, length/200)
	}
	out, tmp := filepath.Join(t.TempDir(), "out"), t.TempDir()
	p := start(t, []string{"TMPDIR=" + tmp}, "run", "-n", "host,bridge", "-p", "udp-rr,tcp-stream", "--blocks", "100000", "--duration", "10ms", "--warmup", "0s", "--keep-disturbed", "-o", out)
	lines := filepath.Join(out, "results.jsonl")
	eventually(t, "a trial is recorded", func() bool { return notEmpty(lines)() || len(withEnv(p.mark)) == 0 })
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	begun, fail := time.Now(), nstest.Judge(t)
	var hours, trials []float64
	var used [len(resourceNames)][]float64
	read, count := int64(0), 0.0
	for tick := time.NewTicker(every); time.Since(begun) < length || count < fewest && time.Since(begun) < 4*length; <-tick.C {
		select {
		case err := <-ended:
			t.Fatalf("the run ended after %v: %v\n%s", time.Since(begun), err, &p.stderr)
		default:
		}
		count += newLines(t, lines, &read)
		u := uses(p.mark, tmp)
		if time.Since(begun) < length/10 || count < fewest/10 { // it grows until all has happened once
			continue
		}
		hours, trials = append(hours, time.Since(begun).Hours()), append(trials, count)
		for i := range u {
			used[i] = append(used[i], u[i])
		}
	}
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-ended
	if len(hours) < 2*sections || count < fewest {
		fail("%.0f trials and %d samples in %v: growth shows in %d trials and %d samples", count, len(hours), time.Since(begun).Round(time.Second), fewest, 2*sections)
	}
	bound := 1.0 // per 1,000 trials
	if *growthHours == 0 {
		bound = 20 // what leaks with every trial, leaks 1,000
	}
	var b strings.Builder
	var bad []string
	fmt.Fprintf(&b, "One run of %v with %.0f trials:\n\n| | at first | at last | per hour (95 %%) | per 1,000 trials (95 %%) |\n|---|---|---|---|---|\n", time.Since(begun).Round(time.Second), count)
	for i, name := range resourceNames {
		h, hh := slope(hours, used[i])
		n, nh := slope(trials, used[i])
		part := len(hours) / sections
		fmt.Fprintf(&b, "| %s | %.1f | %.1f | %.2f ± %.2f | %.3f ± %.3f |\n", name, mean(used[i][:part]), mean(used[i][len(hours)-part:]), h, hh, 1000*n, 1000*nh)
		switch {
		case i == 0 && (n-2*nh)*1e6 > perTrial && *growthHours > 0: // in a moment the collector decides
			bad = append(bad, fmt.Sprintf("memory grows by %.0f bytes a trial, more than %d", n*1e6, perTrial))
		case i > 0 && 1000*(n-2*nh) > bound: // six intervals: one of them misses the truth too often by itself
			bad = append(bad, fmt.Sprintf("%s: grow by %.3f ± %.3f per 1,000 trials", name, 1000*n, 1000*nh))
		}
	}
	begun = time.Now()
	report := start(t, nil, "report", out, "--format", "md")
	if got := report.statusWithin(t, slow); got != 0 {
		t.Errorf("report: status %d\n%s", got, &report.stderr)
	}
	usage, _ := report.ProcessState.SysUsage().(*syscall.Rusage)
	fmt.Fprintf(&b, "\nIts report took %.1f s and %.0f MB.\n", time.Since(begun).Seconds(), float64(usage.Maxrss)*1024/1e6)
	t.Log("\n" + b.String())
	if bad != nil {
		fail("%s", strings.Join(bad, "; "))
	}
}

// newLines counts the lines of a file after an offset, which it moves.
func newLines(t *testing.T, file string, offset *int64) (n float64) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, info.Size()-*offset)
	if _, err := f.ReadAt(b, *offset); err != nil {
		t.Fatal(err)
	}
	*offset += int64(len(b))
	return float64(bytes.Count(b, []byte("\n")))
}
