package clustertest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/record"
)

// A coordinator in the cluster measures every network between agents that dial it, and the results come home.
func TestInCluster(t *testing.T) {
	need(t)
	t.Parallel()
	m := measure(t, "--in-cluster", "--image", os.Getenv("WEIR_IMAGE"), "--nodes", "all", "-n", "host,pod,service,nodeport", "-p", "tcp-stream,udp-rr", "--blocks", "2", "--duration", "100ms")
	if status := m.status(t); status != 0 {
		t.Errorf("status %d; weir printed:\n%s", status, &m.out)
	}
	seen := map[string]int{}
	for _, r := range m.results(t) {
		if r.Status != record.OK {
			t.Errorf("%s: %s: %s", r.Trial, r.Status, r.Reason)
		}
		if got := r.Observed["cluster.kube-proxy"]; got != bothModes {
			t.Errorf("%s: kube-proxy %q, want %q", r.Trial, got, bothModes)
		}
		seen[r.Config["network"]]++
	}
	for _, n := range []string{"host", "pod", "service", "nodeport"} {
		if seen[n] != 4 {
			t.Errorf("%d trials of %s, want 4; weir printed:\n%s", seen[n], n, &m.out)
		}
	}
	if _, err := os.Stat(filepath.Join(m.dir, "report.html")); err != nil {
		t.Error(err)
	}
}

var launched = regexp.MustCompile(`the run goes on in the cluster as (\S+),`)

// A background is a run in the cluster whose messages are in a file.
type background struct {
	*exec.Cmd
	said, dir string
}

// begin starts a run in the cluster, in a namespace that exists, and returns it with its coordinator when agents run.
func begin(t *testing.T, namespace string, args ...string) (b background, job string) {
	t.Helper()
	b = background{said: filepath.Join(t.TempDir(), "said"), dir: filepath.Join(t.TempDir(), "out")}
	log, err := os.Create(b.said)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	b.Cmd = weir(t, append([]string{"run", "--kube", "--in-cluster", "-N", namespace, "--image", os.Getenv("WEIR_IMAGE"), "-o", b.dir, "--keep-disturbed", "--warmup", "20ms"}, args...)...)
	b.Stdout, b.Stderr = log, log
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Process.Kill() }) // in vain once it has ended
	eventually(t, 2*time.Minute, func() error {
		found := launched.FindSubmatch(b.read())
		if found == nil {
			return fmt.Errorf("no run in the cluster; weir printed:\n%s", b.read())
		}
		job = string(found[1])
		return nil
	})
	return b, job
}

func (b background) read() []byte {
	text, _ := os.ReadFile(b.said) // begin has made it
	return text
}

// A run outlives the command that started it, even one that is killed. Another one brings it home.
func TestAttach(t *testing.T) {
	need(t)
	t.Parallel()
	const blocks = 40
	kubectl(t, "create", "namespace", "attached")
	b, job := begin(t, "attached", "-n", "pod", "-p", "udp-rr", "--blocks", fmt.Sprint(blocks), "--duration", "100ms")
	if err := b.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = b.Wait() // killed
	home := filepath.Join(t.TempDir(), "home")
	m := &measurement{Cmd: weir(t, "run", "--kube", "-N", "attached", "--attach", job, "-o", home), dir: home}
	m.Stdout, m.Stderr = &m.out, &m.out
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	if status := m.status(t); status != 0 {
		t.Errorf("status %d; weir printed:\n%s", status, &m.out)
	}
	rs := m.results(t)
	for _, r := range rs {
		if r.Status != record.OK {
			t.Errorf("%s: %s: %s", r.Trial, r.Status, r.Reason)
		}
	}
	if len(rs) != blocks {
		t.Errorf("%d trials, want %d", len(rs), blocks)
	}
	nothingLeft(t, agentsEnd, "attached")
}

// A coordinator that goes is told, with the reason, and takes everything with it.
func TestCoordinatorGone(t *testing.T) {
	need(t)
	t.Parallel()
	kubectl(t, "create", "namespace", "gone")
	b, job := begin(t, "gone", "-n", "pod", "-p", "udp-rr", "--blocks", "5000", "--duration", "100ms")
	kubectl(t, "delete", "pod", "-l", "job-name="+job, "--namespace=gone", "--wait=false")
	var exit *exec.ExitError
	if err := b.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 || !bytes.Contains(b.read(), []byte("the coordinator has ended")) || !strings.Contains(string(b.read()), "--volume") {
		t.Errorf("%v; weir printed:\n%s", err, b.read())
	}
	nothingLeft(t, agentsEnd, "gone")
}

// What a coordinator that is killed had measured comes home, and the run continues from there: nothing is lost or measured twice.
func TestCoordinatorKilled(t *testing.T) {
	need(t)
	t.Parallel()
	kubectl(t, "create", "namespace", "coordinator-killed")
	stopped(t, "coordinator-killed", func(job string) { killCoordinator(t, job) })
}

// The same on a claim of the user's.
func TestVolume(t *testing.T) {
	need(t)
	t.Parallel()
	kubectl(t, "create", "namespace", "kept")
	persistent(t, "kept", `""`)
	apply(t, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: results, namespace: kept}
spec: {accessModes: [ReadWriteMany], storageClassName: "", volumeName: kept, resources: {requests: {storage: 1Gi}}}
`)
	stopped(t, "kept", func(job string) { killCoordinator(t, job) }, "--volume", "results")
}

// Where the cluster has a default StorageClass, results outlive even the coordinator's pod. The class is there for all
// namespaces, so this test runs while no other does.
func TestDefaultClass(t *testing.T) {
	need(t)
	const class = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: by-default, annotations: {storageclass.kubernetes.io/is-default-class: \"true\"}}\nprovisioner: kubernetes.io/no-provisioner\n"
	kubectl(t, "create", "namespace", "claimed")
	apply(t, class)
	defer kubectl(t, "delete", "storageclass", "by-default")
	persistent(t, "claimed", "by-default")
	stopped(t, "claimed", func(job string) {
		kubectl(t, "delete", "pod", "-l", "job-name="+job, "--namespace=claimed", "--wait=false")
	})
}

// apply makes objects.
func apply(t *testing.T, yaml string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "apply", "-f", file)
}

// persistent makes a volume of a class: a directory of this machine, which both nodes see.
func persistent(t *testing.T, name, class string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil { // weir's user in pods; kubelet gives no hostPath to the group
		t.Fatal(err)
	}
	apply(t, fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: %s}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteMany, ReadWriteOnce], persistentVolumeReclaimPolicy: Retain, storageClassName: %s, hostPath: {path: %s, type: Directory}}
`, name, class, dir))
}

// stopped begins a run, stops its coordinator in the middle, waits for its results and continues it.
func stopped(t *testing.T, namespace string, stop func(job string), args ...string) {
	t.Helper()
	const blocks = 60
	b, job := begin(t, namespace, append([]string{"-n", "pod", "-p", "udp-rr", "--blocks", fmt.Sprint(blocks), "--duration", "100ms"}, args...)...)
	eventually(t, 2*time.Minute, func() error {
		if !bytes.Contains(b.read(), []byte("block 5:")) {
			return fmt.Errorf("too few blocks; weir printed:\n%s", b.read())
		}
		return nil
	})
	stop(job)
	var exit *exec.ExitError
	if err := b.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 4 {
		t.Errorf("%v, want status 4", err)
	}
	for _, want := range []string{"the coordinator was lost (", "the coordinator ended before the run did", "the results so far are in " + b.dir} {
		if !bytes.Contains(b.read(), []byte(want)) {
			t.Errorf("no %q; weir printed:\n%s", want, b.read())
		}
	}
	nothingLeft(t, agentsEnd, namespace)
	before, err := os.ReadFile(filepath.Join(b.dir, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	done := bytes.Count(before, []byte("\n"))
	if done < 4 || done >= blocks {
		t.Fatalf("%d trials of %d when the coordinator was stopped", done, blocks)
	}
	m := &measurement{Cmd: weir(t, "run", "--resume", b.dir), dir: b.dir}
	m.Stdout, m.Stderr = &m.out, &m.out
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	if status := m.status(t); status != 0 {
		t.Errorf("resumed: status %d; weir printed:\n%s", status, &m.out)
	}
	trials := map[string]int{}
	for _, r := range m.results(t) {
		trials[r.Trial]++
		if r.Status != record.OK {
			t.Errorf("%s: %s: %s", r.Trial, r.Status, r.Reason)
		}
	}
	after, err := os.ReadFile(filepath.Join(b.dir, "results.jsonl"))
	if err != nil || !bytes.HasPrefix(after, before[:bytes.LastIndexByte(before, '\n')+1]) || bytes.Count(after, []byte("\n")) != blocks || len(trials) != blocks {
		t.Errorf("%v: %d lines of %d trials after %d, want %d of each, the first ones unchanged; weir printed:\n%s", err, bytes.Count(after, []byte("\n")), len(trials), done, blocks, &m.out)
	}
}

// killCoordinator sends SIGKILL to process 1 of a coordinator's pod.
func killCoordinator(t *testing.T, job string) {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range procs {
		argv, _ := os.ReadFile(filepath.Join(p, "cmdline")) // it can be gone
		env, _ := os.ReadFile(filepath.Join(p, "environ"))
		if string(argv) != "/weir\x00coordinate\x00" || !bytes.Contains(append([]byte{0}, env...), []byte("\x00WEIR_JOB="+job+"\x00")) {
			continue
		}
		var pid int
		if _, err := fmt.Sscan(filepath.Base(p), &pid); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no process is the coordinator of %s", job)
}
