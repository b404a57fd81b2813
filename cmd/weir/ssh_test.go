package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-bench/weir/record"
)

// onHosts runs a shell script where `ssh a` and `ssh b` lead to two machines; $0 is weir.
func onHosts(t *testing.T, dir, script string) (said string, status int) {
	t.Helper()
	needLab(t)
	self, err := exec.LookPath("weir")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("../../scripts/hosts", "a,b", "sh", "-c", "cd "+dir+"\n"+script, self)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if strings.HasPrefix(out.String(), "hosts: ") && cmd.ProcessState.ExitCode() == 3 {
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
