package relay

import (
	"testing"
	"time"
)

// Datagrams come out in order, after the delay and not before; a hold that is full refuses more.
func TestHold(t *testing.T) {
	const delay = 16 * time.Millisecond
	h, err := newHold(delay, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	start := time.Now()
	b := []byte("a")
	put := func(text string, after time.Duration) {
		t.Helper()
		b = append(b[:0], text...) // the hold must have copied the bytes
		if !h.put(b, start.Add(after)) {
			t.Fatalf("%s was refused", text)
		}
	}
	take := func(after time.Duration, want string) {
		t.Helper()
		if got := h.take(start.Add(after)); string(got) != want {
			t.Errorf("after %v: %q, want %q", after, got, want)
		}
	}
	take(time.Hour, "")
	put("one", 0)
	put("two", 0)
	put("three", time.Millisecond)
	take(delay-1, "")
	take(delay, "one")
	take(delay, "two")
	take(delay, "")
	take(delay+time.Millisecond, "three")
	take(time.Hour, "")

	large := make([]byte, maxHeld/2)
	for i, want := range []bool{true, true, false} {
		if got := h.put(large, start); got != want {
			t.Errorf("half of maxHeld, time %d: %v", i+1, got)
		}
	}
	if h.take(start.Add(delay)); !h.put(large, start) {
		t.Error("refused, although half of maxHeld is free again")
	}
}

// A hold sends without further calls, not before the delay is over, and ends when it is closed.
func TestHoldSends(t *testing.T) {
	const delay = 2 * time.Millisecond
	sent := make(chan string, 3)
	h, err := newHold(delay, func(b []byte) { sent <- string(b) })
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- h.run() }()
	for _, text := range []string{"one", "two", "three"} { // the timer is set again for each
		start := time.Now()
		h.put([]byte(text), start)
		if got := <-sent; got != text {
			t.Errorf("%q, want %q", got, text)
		}
		if took := time.Since(start); took < delay {
			t.Errorf("%s was held for %v, want %v", text, took, delay)
		}
	}
	if err := h.close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestParseNeighbor(t *testing.T) {
	for _, x := range []struct{ s, err string }{
		{"198.18.1.1:1,198.18.1.2:1", ""},
		{"[2001:2::1]:1,[2001:2::2]:1,1.5ms", ""},
		{"198.18.1.1:1", `invalid neighbor "198.18.1.1:1": want LOCAL,REMOTE or LOCAL,REMOTE,DELAY`},
		{"198.18.1.1,198.18.1.2:1", "not an ip:port"},
		{"198.18.1.1:1,198.18.1.2", "not an ip:port"},
		{"198.18.1.1:1,198.18.1.2:1,soon", `time: invalid duration "soon"`},
		{"198.18.1.1:1,198.18.1.2:1,-1ms", "invalid delay -1ms: want 0 to 1s"},
		{"198.18.1.1:1,198.18.1.2:1,2s", "invalid delay 2s: want 0 to 1s"},
	} {
		n, err := ParseNeighbor(x.s)
		if x.err == "" && (err != nil || !n.Local.IsValid() || !n.Remote.IsValid()) || x.err != "" && (err == nil || err.Error() != x.err) {
			t.Errorf("%s: %+v, %v, want %q", x.s, n, err, x.err)
		}
	}
}
