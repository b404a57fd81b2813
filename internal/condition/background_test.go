package condition

import (
	"maps"
	"testing"
)

func TestBeside(t *testing.T) {
	for _, c := range []struct {
		stress, load string
		wantStress   Stress
		wantLoad     Load
	}{
		{"0", "idle", Stress{}, Load{}},
		{"0%", "tcp-stream", Stress{}, Load{Probe: "tcp-stream"}},
		{"25%", "tcp-stream@50%", Stress{Share: 0.25}, Load{"tcp-stream", 0.5}},
		{"100%", "my.load@100%", Stress{Share: 1}, Load{"my.load", 1}},
		{"0.25", "udp-rate@1%", Stress{Share: 0.25}, Load{"udp-rate", 0.01}},
		{"split-50%", "idle", Stress{Share: 0.5, Split: true}, Load{}},
		{"split-0%", "idle", Stress{}, Load{}},
	} {
		s, l, err := Background(map[string]string{"stress": c.stress, "load": c.load, "mtu": "9000", "size": "64"})
		if err != nil || s != c.wantStress || l != c.wantLoad {
			t.Errorf("%s, %s: %+v, %+v, %v, want %+v, %+v", c.stress, c.load, s, l, err, c.wantStress, c.wantLoad)
		}
	}
	if s, l, err := Background(map[string]string{"mtu": "9000"}); err != nil || s != (Stress{}) || l != (Load{}) {
		t.Errorf("nothing was asked for: %+v, %+v, %v", s, l, err)
	}
	if _, _, err := Background(map[string]string{"stress": "much"}); err == nil {
		t.Error("stress \"much\" was taken")
	}
}

func TestClients(t *testing.T) {
	for level, want := range map[string]int{"1": 1, "9": 9, "1000": 1000} {
		if n, err := Clients(map[string]string{"clients": level, "mtu": "9000"}); n != want || err != nil {
			t.Errorf("%s: %d, %v", level, n, err)
		}
	}
	if n, err := Clients(map[string]string{"mtu": "9000"}); n != 0 || err != nil {
		t.Errorf("nothing was asked for: %d, %v", n, err)
	}
	if n, err := Clients(map[string]string{"clients": "-1"}); n != 0 || err == nil {
		t.Errorf("-1 clients: %d, %v", n, err)
	}
}

// The background of a trial is not a property of the path.
func TestNetwork(t *testing.T) {
	got := Network(map[string]string{"stress": "25%", "load": "idle", "clients": "9", "mtu": "9000", "size": "64"})
	if want := map[string]string{"mtu": "9000"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// An accepted level describes something possible.
func FuzzBeside(f *testing.F) {
	for _, level := range []string{"0", "50%", "split-50%", "idle", "tcp-stream@50%", "a@1e-3", "@", "9"} {
		f.Add(level)
	}
	f.Fuzz(func(t *testing.T, level string) {
		if s, err := ParseStress(level); err == nil && !(s == Stress{} || s.Share >= minShare && s.Share <= 1) {
			t.Errorf("stress %q: %+v", level, s)
		}
		if l, err := ParseLoad(level); err == nil && !(l == Load{} || l.Probe != "" && (l.Share == 0 || l.Share >= minShare && l.Share <= 1)) {
			t.Errorf("load %q: %+v", level, l)
		}
		if n, err := ParseClients(level); err == nil && (n < 1 || n > maxClients) {
			t.Errorf("clients %q: %d", level, n)
		}
	})
}
