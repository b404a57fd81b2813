package clustertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kubectl runs kubectl and returns what it prints.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := tryKubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func tryKubectl(ctx context.Context, args ...string) (string, error) {
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, "kubectl", args...)
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, &said)
	}
	return strings.TrimSpace(out.String()), nil
}

// inNode runs a command in the namespaces of a node and returns what it prints.
func inNode(t *testing.T, node string, argv ...string) string {
	t.Helper()
	holder := os.Getenv("KUBE_" + strings.ToUpper(node))
	out, err := exec.Command("nsenter", append([]string{"--target", holder, "--net", "--mount", "--uts"}, argv...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s in %s: %v: %s", argv, node, err, out)
	}
	return string(out)
}

// eventually waits until f returns nil.
func eventually(t *testing.T, patience time.Duration, f func() error) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %v", patience, err)
		}
	}
}

// The nodes are what scripts/kube promises: two, each with its own mode of kube-proxy, with Flannel between them.
func TestNodes(t *testing.T) {
	need(t)
	t.Parallel()
	if got := kubectl(t, "get", "nodes", "-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.labels.topology\.kubernetes\.io/zone} {.status.nodeInfo.kubeletVersion};{end}`); got != "node1 zone1 v1.33.13;node2 zone2 v1.33.13;" {
		t.Errorf("nodes %s", got)
	}
	eventually(t, patience, func() error {
		if !strings.Contains(inNode(t, "node1", "iptables-save", "-t", "nat"), "KUBE-SERVICES") {
			return errors.New("no rules of kube-proxy in node1's iptables")
		}
		if !strings.Contains(inNode(t, "node2", "nft", "list", "tables"), "kube-proxy") {
			return errors.New("no table of kube-proxy in node2's nftables")
		}
		return nil
	})
	for _, node := range []string{"node1", "node2"} {
		if !strings.Contains(inNode(t, node, "ip", "-d", "link", "show", "flannel.1"), "mtu 1450") {
			t.Errorf("%s has no flannel.1 of MTU 1450", node)
		}
	}
}

// The images of `weir image` run as users of no privilege: for one architecture, for several, and one with a shell.
func TestImages(t *testing.T) {
	need(t)
	for name, c := range map[string]struct {
		image, want string
		argv        []string
	}{
		"weir":  {os.Getenv("WEIR_IMAGE"), "weir devel", []string{"--version"}},
		"two":   {twoImage, "weir devel", []string{"--version"}},
		"shell": {shellImage, "uid=65532", []string{"sh", "-c", "id && head -c 3 /bin/busybox | tail -c 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := "image-" + name
			kubectl(t, append([]string{"run", pod, "--image=" + c.image, "--image-pull-policy=Never", "--restart=Never",
				`--overrides={"spec": {"securityContext": {"runAsUser": 65532, "runAsNonRoot": true}, "terminationGracePeriodSeconds": 1}}`, "--"}, c.argv...)...)
			kubectl(t, "wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/"+pod, "--timeout=60s")
			if got := kubectl(t, "logs", pod); !strings.Contains(got, c.want) {
				t.Errorf("printed %q, want %q", got, c.want)
			}
		})
	}
}

// weir is the program in the cluster's image.
func weir(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), filepath.Join(os.Getenv(dirEnv), "weir"), args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+os.DevNull) // no history of runs
	return cmd
}
