package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/failure"
)

// toFull are commands that print, and then those that write {file}.
var toFull = []string{
	"report {dir}", "report {dir} --format csv", "report {dir} --format json", "cite {dir}", "compare {dir} {dir}", "explain {dir}", "bisect settings {dir} {dir}", "list networks", "plan -n bridge", "reproduce", "figure", "schema", "version",
	"report {dir} --format html -o {file}", "report {dir} --format csv -o {file}", "cite {dir} -o {file}", "compare {dir} {dir} --junit {file}",
}

// A command whose output finds no room says so, and does not succeed.
func TestFullOutput(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	finish(t, weir("", "run", "-n", "host,bridge", "-p", "udp-rr", "--blocks", "2", "--duration", "10ms", "--warmup", "0s", "--keep-disturbed", "-o", dir))
	for _, line := range toFull {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			p := &process{mark: "WEIR_TEST_MARK=" + t.TempDir()}
			p.Cmd = weir(p.mark, strings.Fields(strings.NewReplacer("{dir}", dir, "{file}", "/dev/full").Replace(line))...)
			p.Stderr = &p.stderr
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer full.Close()
			if !strings.Contains(line, "{file}") {
				p.Stdout = full
			}
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			if got, said := p.status(t), p.stderr.String(); got != int(failure.Environment) || !strings.Contains(said, "no space left on device") || strings.Contains(line, "{file}") && !strings.Contains(said, "/dev/full") || panicked.MatchString(said) {
				t.Errorf("status %d, want 3\n%s", got, said)
			}
		})
	}
}

// A run whose files may not grow, or whose disk breaks, ends with the cause and keeps what it had measured. With room, it
// continues.
func TestFilesFail(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for name, c := range map[string]struct{ script, cause string }{
		"ulimit -f": {`run() { (ulimit -f 40; exec "$@"); }
brk() { :; }
mend() { run() { "$@"; }; }
mkdir mnt`, "file too large"},
		// The disk loses what is behind its first megabyte, which then is where it was.
		"EIO": {`unsupported() { echo "unsupported: $*"; exit 0; }
run() { "$@"; }
mkdir small mnt
mount -t tmpfs small small
truncate -s 64M small/disk
mkfs.ext2 -q small/disk >mkfs 2>&1 || unsupported $(cat mkfs)
mount -o loop small/disk mnt 2>mounted || unsupported $(cat mounted)
brk() { sync -f mnt/out; cp --sparse=always small/disk small/whole; truncate -s 1M small/disk; losetup -c $(findmnt -no SOURCE mnt); }
mend() { umount mnt; mv small/whole small/disk; mount -o loop small/disk mnt; }`, "input/output error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spaces := []string{"--mount"}
			if name == "EIO" && os.Geteuid() != 0 {
				t.Skip("only root has loop devices")
			}
			if os.Geteuid() != 0 {
				spaces = append(spaces, "--user", "--map-root-user")
			}
			const rest = `
run weir run -n host -p udp-rr --blocks 40 --keep-disturbed --duration 10ms --warmup 0s -o mnt/out >log 2>&1 &
tries=3000
until test -s mnt/out/results.jsonl; do tries=$((tries - 1)); test $tries -gt 0 || { cat log; exit 1; }; kill -0 $! 2>/dev/null || break; sleep 0.01; done
brk
status=0; wait $! || status=$?
echo "ended with $status"
cat log
before=$(grep -c '"status":"ok"' mnt/out/results.jsonl) || :
mend
status=0; run weir run --resume mnt/out >log 2>&1 || status=$?
echo "resumed with $status: $(wc -l <mnt/out/results.jsonl) lines, ok before: $before, ids $(cut -d'"' -f6 mnt/out/results.jsonl | sort -u | wc -l)"
test $status -le 1 || cat log
umount mnt 2>/dev/null || :`
			cmd := exec.CommandContext(t.Context(), "unshare", slices.Concat(spaces, []string{"sh", "-ec", c.script + rest})...)
			cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "XDG_STATE_HOME="+os.DevNull)
			cmd.WaitDelay = patience
			b, err := cmd.CombinedOutput()
			said := string(b)
			if why, ok := strings.CutPrefix(said, "unsupported: "); ok {
				t.Skipf("not supported by this kernel: %s", why)
			}
			resumed := strings.Contains(said, "resumed with 0: 40 lines") || strings.Contains(said, "resumed with 1: 40 lines")
			if err != nil || !strings.Contains(said, "ended with 3\n") || !strings.Contains(said, c.cause) || !resumed || !strings.Contains(said, "ids 40\n") || panicked.MatchString(said) {
				t.Errorf("%v\n%s", err, said)
			}
			t.Log(said)
		})
	}
}
