package foreign

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a link leads to is neither read nor written if another user made the link, wherever it is in a chain.
func TestForeignLink(t *testing.T) {
	if os.Getuid() != 0 || mapped() {
		t.Skip("only root can give a link away")
	}
	t.Setenv("SUDO_UID", "")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(at("secret"), []byte("mine"), 0o600), os.Symlink("secret", at("own")), os.Symlink("secret", at("planted")),
		os.Symlink("planted", at("chain")), os.Symlink("loop", at("loop")), os.Lchown(at("planted"), 1234, 1234)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"secret": "", "own": "", "planted": "a link that another user made (uid 1234)", "chain": "a link that another user made", "loop": "too many levels"} {
		b, err := ReadFile(at(name), 10)
		if want == "" && (err != nil || string(b) != "mine") || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), at(name))) {
			t.Errorf("read %s: %q, %v, want %q", name, b, err, want)
		}
	}
	if err := Write(at("chain"), []byte("theirs")); err == nil {
		t.Error("written through a link of another user")
	}
	if err := Write(at("own"), []byte("new")); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(at("secret")); err != nil || string(b) != "new" {
		t.Errorf("%q, %v", b, err)
	}
	if err := errors.Join(os.MkdirAll(at("d/in"), 0o700), os.Symlink(at("d"), at("plantedDir")), os.Symlink("plantedDir", at("chainDir")), os.Symlink("d", at("ownDir")),
		os.Symlink("loopDir", at("loopDir")), os.Lchown(at("plantedDir"), 1234, 1234)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"d": true, "ownDir": true, "ownDir/in": true, "plantedDir": false, "plantedDir/in": false, "chainDir/in": false, "loopDir": false, "none": false} {
		root, err := OpenRoot(at(name))
		if want != (err == nil) || !want && !strings.Contains(err.Error(), at(name)) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			root.Close()
		}
		if err := Write(at(name+"/file"), nil); want != (err == nil) {
			t.Errorf("written to %s: %v", name, err)
		}
	}
	t.Setenv("SUDO_UID", "1234")
	if _, err := ReadFile(at("planted"), 10); err != nil {
		t.Errorf("of the user who called sudo: %v", err)
	}
	if b, err := ReadFile("/proc/self/cmdline", 1<<20); err != nil || len(b) == 0 {
		t.Errorf("below a link of the kernel: %v", err)
	}
}
