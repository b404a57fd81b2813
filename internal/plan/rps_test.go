package plan

import (
	"bytes"
	"testing"
)

func TestShellOfMasksAndContainers(t *testing.T) {
	rps := func(mask string) Step { return Step{In: "h1", Sysctl: &Sysctl{Key: DefaultRPS, Value: mask}} }
	for want, s := range map[string]Step{
		"ip netns exec h1 sysctl -qw net.core.rps_default_mask=3\n":                                                 rps(Mask("3")),
		"ip netns exec h1 sysctl -qw net.core.rps_default_mask=ffffffff\n":                                          rps(Mask("ffffffff")),
		"ip netns exec h1 sysctl -qw net.core.rps_default_mask=f,00000000,ffffffff\n":                               rps(Mask("f00000000ffffffff")),
		"cpus=$(printf %x $(((1 << $(nproc)) - 1)))\nip netns exec h1 sysctl -qw net.core.rps_default_mask=$cpus\n": rps(AllCPUs),
		"# h1p1 is a network namespace inside the guest h1 from here on\n":                                          {In: "h1p1", Inside: &Inside{Guest: "h1"}},
	} {
		var got bytes.Buffer
		if err := (Plan{Steps: []Step{s}}).Shell(&got, nil); err != nil || got.String() != want {
			t.Errorf("got\n%s%v, want\n%s", &got, err, want)
		}
	}
}
