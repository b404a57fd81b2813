package vm

import (
	"errors"
	"testing"
	"testing/fstest"
)

// Software-only KVM is detected before a guest hangs under it.
func TestPVM(t *testing.T) {
	for _, c := range []struct {
		modules []string
		want    error
	}{
		{nil, nil}, // built into an arm64 kernel
		{[]string{"kvm", "kvm_intel"}, nil},
		{[]string{"kvm", "kvm_pvm"}, errPVM},
		{[]string{"kvm", "kvm_pvm", "kvm_amd"}, nil},
	} {
		root := fstest.MapFS{}
		for _, m := range c.modules {
			root["sys/module/"+m+"/uevent"] = &fstest.MapFile{}
		}
		if err := pvm(root); !errors.Is(err, c.want) {
			t.Errorf("%v: %v, want %v", c.modules, err, c.want)
		}
	}
}
