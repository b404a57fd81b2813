package main

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/record"
)

var guests = flag.Bool("guests", false, "also test machines of another architecture, and one that loses its power: minutes")

// onGuests runs a shell script where `ssh g1` and `ssh g2` lead to machines with kernels and clocks of
// their own; $0 is weir. They are emulated where KVM does not work: no test asserts speed.
func onGuests(t *testing.T, names, dir, script string) {
	t.Helper()
	for _, err := range []error{guestErr(), tunErr()} {
		if err != nil {
			t.Skip(err)
		}
	}
	said, status := onMachines(t, "guests", names, dir, "set -e\ncat $GUESTS/*/accel\n"+script)
	if status != 0 {
		t.Fatalf("status %d\n%s", status, said)
	}
	t.Log(strings.Fields(said)[:2]) // kvm or tcg
}

// plausible fails unless every trial is ok and every value possible, whatever clocks say: an hour that
// one clock is ahead of another, or is set forward and back, is in none.
func plausible(t *testing.T, rs []record.Result) {
	t.Helper()
	for _, r := range rs {
		if r.Status != record.OK {
			t.Errorf("%s: %s %s", r.Trial, r.Status, r.Reason)
		}
		for _, v := range r.Values {
			most := math.Inf(1)
			switch {
			case v.Unit == "s":
				most = r.Elapsed
			case v.Unit == "core":
				most = 3 // two machines of one CPU, and rounding by ticks
			case v.Name == "loss":
				most = 1
			}
			// CPU time is a difference to that of the idle machine.
			if bad := math.IsNaN(v.Value) || math.Abs(v.Value) > most; bad || v.Value < 0 && v.Unit != "core" {
				t.Errorf("%s: %s is %g %s, and the trial took %v s", r.Trial, v.Name, v.Value, v.Unit, r.Elapsed)
			}
		}
	}
}

// No value crosses two clocks, or is taken from one that can be set: g2 is an hour ahead and drifts as
// much as adjtimex(2) allows, and both clocks are set forward and back all the time.
func TestClocksOverSSH(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	dir := t.TempDir()
	onGuests(t, "g1,g2", dir, `ssh g2 'date -s @$(($(date +%s) + 3600)); adjtimex -f 32768000' > /dev/null
"$0" run --ssh g1,g2 -n host -p tcp-stream,udp-rr --blocks 2 --warmup 50ms --duration 200ms --keep-disturbed -o out & run=$!
until [ -e out/study.yaml ]; do sleep .1; kill -0 $run; done
for g in g1 g2; do
	ssh $g 'while :; do
		date -s @$(($(date +%s) + 3600)); usleep 70000; date -s @$(($(date +%s) - 3600)); usleep 70000
	done' > /dev/null 2>&1 &
done
wait $run
`)
	plausible(t, results(t, filepath.Join(dir, "out")))
	named(t, filepath.Join(dir, "out"))
}

// A machine that loses its power fails its trials, and the run ends. --resume waits for nobody, and continues when the
// machine is back.
func TestPowerOverSSH(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	if !*guests {
		return // make test-guests
	}
	dir := t.TempDir()
	onGuests(t, "g1,g2", dir, `"$0" run --ssh g1,g2 -n host -p tcp-stream,udp-rr --blocks 6 --warmup 50ms --duration 200ms --keep-disturbed -o out 2> ended & run=$!
until [ -s out/results.jsonl ]; do sleep .1; kill -0 $run; done
kill -9 $(cat $GUESTS/g2/pid)
wait $run && exit 9 || [ $? = 3 ]
cp out/results.jsonl first
"$0" run --resume out 2> refused && exit 9 || [ $? = 3 ]
sh $GUESTS/g2/boot
until ssh -o BatchMode=yes g2 true 2> /dev/null; do sleep .2; kill -0 $(cat $GUESTS/g2/pid); done
"$0" run --resume out
"$0" trace --ssh g1,g2 --count 20 > trace
"$0" run --ssh g1,g2 -n host -p udp-stream --blocks 1 --warmup 50ms --duration 200ms --keep-disturbed --profile --trace -o layers
`)
	says := func(file string, words ...string) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range words {
			if !strings.Contains(string(b), want) {
				t.Errorf("%s does not say %q:\n%s", file, want, b)
			}
		}
	}
	says("first", `"status":"ok"`, `"status":"failed"`, "g2")
	says("ended", "continue with: weir run --resume out")
	if b, err := os.ReadFile(filepath.Join(dir, "ended")); err != nil || strings.Contains(string(b), "tries again") {
		t.Errorf("weir tries again, although no trial can run: %s", b)
	}
	says("refused", "g2: ssh: ")
	says("trace", "from g1 to g2", "by packet sockets on the devices", "another clock")
	says("layers/report.html", "The path of a packet")
	rs := results(t, filepath.Join(dir, "out"))
	if len(rs) != 12 {
		t.Errorf("%d trials", len(rs))
	}
	plausible(t, rs)
	plausible(t, results(t, filepath.Join(dir, "layers")))
	named(t, filepath.Join(dir, "out"))
}

// The ends of a trial can be of two architectures. The program for the other one is next to weir's.
func TestArchitecturesOverSSH(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	if !*guests {
		return // make test-guests
	}
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	dir := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=test", "-o", filepath.Join(dir, "other"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+other)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	onGuests(t, "g1,g2:"+other, dir, `"$0" run --ssh g1,g2 -n host -p tcp-stream,udp-stream,tcp-rr,udp-rr --blocks 3 --program `+other+`=other \
	--warmup 50ms --duration 200ms --keep-disturbed -o out
"$0" trace --ssh g2,g1 --program `+other+`=other --count 20
`)
	plausible(t, results(t, filepath.Join(dir, "out")))
	named(t, filepath.Join(dir, "out"), "| x86\\_64 |", "| aarch64 ≠ |", "differ in: kernel, architecture")
}

// named fails unless the report of a run gives the kernel of each guest, none of which is this machine's.
func named(t *testing.T, dir string, more ...string) {
	t.Helper()
	c, err := store.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	report, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []string{"g1", "g2"} {
		var f facts.Facts
		if err := json.Unmarshal(c.Hosts[g], &f); err != nil {
			t.Fatal(err)
		}
		if f.Kernel == "" || f.Kernel == facts.Collect(os.DirFS("/")).Kernel {
			t.Errorf("%s has kernel %q", g, f.Kernel)
		}
		more = append(more, "| "+g+" | "+f.Kernel)
	}
	for _, want := range more {
		if !strings.Contains(string(report), want) {
			t.Errorf("the report does not say %q:\n%s", want, report)
		}
	}
}
