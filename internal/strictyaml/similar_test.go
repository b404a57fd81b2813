package strictyaml

import "testing"

func TestClosest(t *testing.T) {
	words := []string{"vni", "port", "networks"}
	for s, want := range map[string]string{"vn": "vni", "PORT": "port", "prot": "port", "network": "networks", "nteworks": "networks", "xyz": "", "": "", "port-number": ""} {
		if got := Closest(s, words); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}
