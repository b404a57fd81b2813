package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// What is recorded of standard error is whole when stop returns.
func TestRecorded(t *testing.T) {
	file, own := filepath.Join(t.TempDir(), "said"), os.Stderr
	stop, err := recorded(file)
	if err != nil {
		t.Fatal(err)
	}
	tell.Say("a word")
	stop()
	if b, err := os.ReadFile(file); err != nil || string(b) != "a word\n" || os.Stderr != own {
		t.Errorf("%q, %v", b, err)
	}
}
