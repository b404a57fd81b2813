package sock

import (
	"bytes"
	"testing"
)

func FuzzControl(f *testing.F) {
	control := NewStamped(-1, nil).ask[:]
	f.Add(control)
	f.Add(bytes.Repeat([]byte{255}, 64))
	f.Add([]byte{16, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, _ := parseReceived(b); v < 0 {
			t.Errorf("received at %d", v)
		}
		if _, v, ok := parseSent(b); ok && v <= 0 {
			t.Errorf("sent at %d", v)
		}
	})
}
