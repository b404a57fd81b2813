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
	said string
}

// begin starts a run in the cluster, in a namespace, and returns it with its coordinator when agents run.
func begin(t *testing.T, namespace string, args ...string) (b background, job string) {
	t.Helper()
	kubectl(t, "create", "namespace", namespace)
	b = background{said: filepath.Join(t.TempDir(), "said")}
	log, err := os.Create(b.said)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	b.Cmd = weir(t, append([]string{"run", "--kube", "--in-cluster", "-N", namespace, "--image", os.Getenv("WEIR_IMAGE"), "-o", filepath.Join(t.TempDir(), "out"), "--keep-disturbed", "--warmup", "20ms"}, args...)...)
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
	b, job := begin(t, "gone", "-n", "pod", "-p", "udp-rr", "--blocks", "5000", "--duration", "100ms")
	kubectl(t, "delete", "pod", "-l", "job-name="+job, "--namespace=gone", "--wait=false")
	var exit *exec.ExitError
	if err := b.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 || !bytes.Contains(b.read(), []byte("the coordinator has ended")) || !strings.Contains(string(b.read()), "--volume") {
		t.Errorf("%v; weir printed:\n%s", err, b.read())
	}
	nothingLeft(t, agentsEnd, "gone")
}
