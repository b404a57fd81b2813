package ssh

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/target/remote"
)

// sshd gives what the client asks for to the user's login shell with -c, whatever shell that is. The agent
// starts through each that this machine has.
func TestLoginShells(t *testing.T) {
	nstest.Need(t)
	asked := command("a")
	script := asked[len(asked)-1]
	for _, shell := range []string{"sh", "dash", "bash", "csh", "bsd-csh", "tcsh", "fish", "ksh", "ksh93", "mksh", "zsh", "yash"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue // sh is everywhere
		}
		t.Run(shell, func(t *testing.T) {
			home := t.TempDir()
			p, err := remote.Start([]string{path, "-c", script}, []string{"HOME=" + home, "TMPDIR=" + home, "XDG_RUNTIME_DIR="})
			if err != nil {
				t.Fatal(err)
			}
			n, _, err := remote.Dial(t.Context(), "a", p, &remote.Programs{})
			if err != nil {
				p.Close()
				t.Fatal(err)
			}
			if err := n.Close(); err != nil {
				t.Error(err)
			}
			left, err := filepath.Glob(filepath.Join(home, "weir-*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
