package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/profile"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/record"
)

// onHosts runs a shell script where `ssh a` and `ssh b` lead to two machines; $0 is weir.
func onHosts(t *testing.T, dir, script string) (said string, status int) {
	t.Helper()
	return onMachines(t, "hosts", "a,b", dir, script)
}

// onMachines runs a shell script among the machines that one of the project's scripts makes; $0 is weir.
func onMachines(t *testing.T, maker, names, dir, script string) (said string, status int) {
	t.Helper()
	needLab(t)
	self, err := exec.LookPath("weir")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("../../scripts/"+maker, names, "sh", "-c", "cd "+dir+"\n"+script, self)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if strings.HasPrefix(out.String(), maker+": ") && cmd.ProcessState.ExitCode() == 3 {
		t.Skip(out.String())
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

const overSSH = `networks: [host, {use: via, dev: vx0}]
probes: [tcp-rr, udp-rr]
blocks: 10
warmup: 0s
duration: 100ms
keep-disturbed: true
target: {ssh: [a, b]}
`

// A run over SSH keeps its results when a signal ends it, continues on the same machines only, and
// needs no privilege of its own.
func TestRunOverSSH(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	dir, err := os.MkdirTemp("/var/tmp", "weir-ssh.") // the machines have their own /tmp
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(overSSH), 0o666); err != nil {
		t.Fatal(err)
	}
	said, status := onHosts(t, dir, `set -e
"$0" doctor --ssh a,b > doctor
"$0" run s.yaml -o out & run=$!
until [ -s out/results.jsonl ]; do sleep .1; kill -0 $run; done
kill -TERM $run
wait $run && exit 9 || [ $? = 4 ]
cp -r out other
sed -i 's/"cpu": "/"cpu": "another /' other/hosts/*.json
"$0" run --resume other && exit 9 || [ $? = 3 ]
"$0" run --resume out
`)
	if status != 0 {
		t.Fatalf("status %d\n%s", status, said)
	}
	if n := strings.Count(said, "is not the machine on which the run began: its CPU was \"another "); n != 1 {
		t.Errorf("another machine: said %d times\n%s", n, said)
	}
	rs := results(t, filepath.Join(dir, "out"))
	if len(rs) != 40 {
		t.Errorf("%d trials", len(rs))
	}
	for _, r := range rs {
		if _, known := r.Observed["path.overhead"]; r.Status != record.OK || r.Observed["path.mtu"] != map[string]string{"host": "1500", "via": "1450"}[r.Config["network"]] || known {
			t.Fatalf("%s: %s %s, %v", r.Trial, r.Status, r.Reason, r.Observed)
		}
	}
	doctor, err := os.ReadFile(filepath.Join(dir, "doctor"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ok    connection", "ok    network host", "10.208.0.1 on eth0; b 10.208.0.2 on eth0; MTU 1500", "ok    a: machine", "vx0 10.209.0.2/24", "ok    b: tools"} {
		if !strings.Contains(string(doctor), want) {
			t.Errorf("doctor does not say %q\n%s", want, doctor)
		}
	}
}

// The MTU of a path is proven with full packets that must not be fragmented. Where a link between the machines carries
// less than their devices say, and drops the rest in silence, weir names the size that fits and measures nothing.
func TestPathMTUOverSSH(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	dir, err := os.MkdirTemp("/var/tmp", "weir-ssh.")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(overSSH), 0o666); err != nil {
		t.Fatal(err)
	}
	said, status := onHosts(t, dir, `ip link set wire2 mtu 1396
"$0" run s.yaml --blocks 1 -o out
`)
	if status != 3 {
		t.Fatalf("status %d\n%s", status, said)
	}
	want := map[string][2]string{
		"host": {"packets above 1396 bytes do not pass between", "set the MTU of eth0 on a and of eth0 on b, which takes 1500, to 1396 or less"},
		"via":  {"packets above 1350 bytes do not pass between", "set the MTU of vx0 on a and of vx0 on b, which takes 1450, to 1350 or less"},
	}
	rs := results(t, filepath.Join(dir, "out"))
	if len(rs) != 4 {
		t.Errorf("%d trials", len(rs))
	}
	for _, r := range rs {
		w := want[r.Config["network"]]
		if r.Status != record.Skipped || !strings.Contains(r.Reason, w[0]) || !strings.Contains(r.Reason, w[1]) {
			t.Errorf("%s: %s %s, want %q", r.Trial, r.Status, r.Reason, w)
		}
	}
}

// Where the user of a machine is root, packet sockets show the hops on each machine by its own clock, and the CPUs are
// sampled; elsewhere counters show the devices, and the reason says what is missing.
func TestTraceOverSSH(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	dir, err := os.MkdirTemp("/var/tmp", "weir-ssh.")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	root := os.Geteuid() == 0
	script := `set -e
"$0" doctor --ssh a,b > doctor
"$0" trace --ssh a,b --count 20 > trace
"$0" trace --ssh a,b -n '{use: via, dev: vx0}' --count 20 --json > via
"$0" trace --ssh a,b --by counters > counters
`
	if root && profile.Check(local.CPUs()) == nil {
		script += `"$0" run --ssh a,b -n 'host,{use: via, dev: vx0}' -p udp-stream --blocks 1 --keep-disturbed --duration 50ms --warmup 0s --profile --trace -o out`
	} else {
		script += `"$0" run --ssh a,b -n host -p udp-stream --profile -o out && exit 9 || [ $? = 3 ]
[ ! -e out ]`
	}
	said, status := onHosts(t, dir, script)
	if status != 0 {
		t.Fatalf("status %d\n%s", status, said)
	}
	want := map[string][]string{
		"trace":    {"host: requests of 64 bytes from a to b, by device counters", "Why: a: "},
		"via":      {`"mode": "counters"`, `"why"`, `"dev": "vx0"`},
		"counters": {"by device counters", "Missing: counters show how many packets the devices moved, others' included"},
		"doctor":   {"note  a: packet trace", "weir trace shows counters only", "note  b: profile"},
	}
	if root {
		want["trace"] = []string{"by packet sockets on the devices", "from a eth0", "another clock", "Between the machines, there and back: "}
		want["via"] = []string{`"does": "encapsulation"`, `"does": "another machine"`, `"does": "decapsulation"`, `"between": `}
		want["doctor"] = []string{"ok    a: packet trace", "ok    b: packet trace"}
	}
	for file, lines := range want {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if !strings.Contains(string(b), line) {
				t.Errorf("%s does not say %q\n%s", file, line, b)
			}
		}
	}
	if !root || profile.Check(local.CPUs()) != nil {
		return
	}
	// The samples of both machines are in one file, and in the report.
	raw := store.OpenRaw(filepath.Join(dir, "out"))
	defer raw.Close()
	b, err := raw.Read("profile-b001-via-udp-stream", "profile.pb.gz")
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]int{}
	for _, s := range p.Stacks {
		samples[s.Frames[0]] += s.Samples
	}
	if samples["client"] == 0 || samples["server"] == 0 {
		t.Errorf("samples by process: %v", samples)
	}
	report, err := os.ReadFile(filepath.Join(dir, "out", "report.html"))
	if err != nil || !strings.Contains(string(report), "extra ns per packet by layer, via over host") || !strings.Contains(string(report), "The path of a packet") {
		t.Errorf("the report lacks profile or trace (error %v)", err)
	}
}

// Where programs cannot run in the usual directories of a machine, weir runs in ~/.cache; where nothing can hold it, the
// error names each directory and its reason, and nothing is left.
func TestDirectoriesOverSSH(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root mounts file systems on the machines")
	}
	dir, err := os.MkdirTemp("/var/tmp", "weir-ssh.")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	said, status := onHosts(t, dir, `set -e
run() { "$0" run --ssh a,b -n host -p udp-rr --blocks 1 --keep-disturbed --duration 50ms --warmup 0s -o "$@"; }
ssh a 'set -e
mount -t tmpfs -o noexec tmpfs /tmp
mount -t tmpfs -o noexec tmpfs /dev/shm
mount --bind /var/tmp /var/tmp
mount -o remount,bind,noexec /var/tmp
mkdir -p ~/.cache'
"$0" doctor --ssh a,b > cache.said
ssh a 'mount -t tmpfs -o ro tmpfs ~/.cache'
run readonly 2> readonly.said && exit 9 || [ $? = 3 ]
ssh a 'umount ~/.cache; mount -t tmpfs -o size=64k tmpfs ~/.cache'
run full 2> full.said && exit 9 || [ $? = 3 ]
ssh a 'ls -A ~/.cache /tmp /dev/shm' > left
`)
	if status != 0 {
		t.Fatalf("status %d\n%s", status, said)
	}
	for file, want := range map[string][]string{
		"cache.said":    {"ok    connection", "ok    a: machine"},
		"readonly.said": {"a: no directory of the machine can hold and run weir: ", "/tmp: programs cannot run there (noexec?): ", "/.cache: mkdir: ", "Read-only file system", "make the directory ~/.cache where programs can run"},
		"full.said":     {"/var/tmp: programs cannot run there (noexec?): ", "/.cache: no room for "},
	} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(b), w) {
				t.Errorf("%s lacks %q:\n%s", file, w, b)
			}
		}
	}
	left, err := os.ReadFile(filepath.Join(dir, "left"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "/dev/shm:\n\n/root/.cache:\n\n/tmp:\n"; string(left) != want {
		t.Errorf("left on the machine:\n%s", left)
	}
}
