package packettrace

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/engine/wire"
	"github.com/weir-bench/weir/internal/nstest"
)

// A tap needs no more than a user namespace: it sees a packet leave a device, and enter it.
func TestTap(t *testing.T) {
	nstest.Need(t)
	loopbackUp(t)
	a, b := pair(t)
	in, stop := io.Pipe()
	out := &firstWrite{ready: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- Tap(in, out) }()
	select {
	case <-out.ready:
	case err := <-ended:
		t.Fatalf("the tap ended early: %v", err)
	}
	_, sendErr := a.Write(datagram(wire.KindEcho, 5))
	_, readErr := b.Read(make([]byte, 100))
	stop.Close()
	if err := errors.Join(<-ended, sendErr, readErr); err != nil {
		t.Fatal(err)
	}
	events, lost, err := ParseTap("here", out.Bytes())
	if err != nil || lost > 0 {
		t.Fatal(lost, err)
	}
	if got := strings.Join(kindsOf(events, 5), ", "); got != "xmit here lo, enter here lo" {
		t.Errorf("got %q", got)
	}
}

type firstWrite struct {
	bytes.Buffer
	ready chan struct{}
}

func (f *firstWrite) Write(b []byte) (int, error) {
	if f.Len() == 0 {
		close(f.ready)
	}
	return f.Buffer.Write(b)
}

func TestParseTap(t *testing.T) {
	good := TapReady + "\n" + `{"at":5,"kind":"enter","node":"","dev":"lo","len":92,"cpu":0,"head":"V+E="}` + "\n" + `{"lost":2}` + "\n"
	events, lost, err := ParseTap("h1", []byte(good))
	if err != nil || lost != 2 || len(events) != 1 || events[0].Node != "h1" || events[0].Dev != "lo" || len(events[0].Head) != 2 {
		t.Errorf("%+v, %d, %v", events, lost, err)
	}
	for _, bad := range []string{"", "packet socket: operation not permitted\n", TapReady + "\n", strings.Replace(good, `"lo"`, "lo", 1)} {
		if _, _, err := ParseTap("h1", []byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(bytes.Repeat([]byte{1}, frameSize))
	f.Add(make([]byte, 12))
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, ok := parseFrame(b, nil); ok && len(e.Head) > HeadSize {
			t.Errorf("%d bytes of the packet, more than %d", len(e.Head), HeadSize)
		}
	})
}

func FuzzMark(f *testing.F) {
	f.Add(datagram(wire.KindStamped|wire.KindAnswer, 3))
	f.Add([]byte{0x57, 0xe1, 0x57})
	f.Fuzz(func(t *testing.T, b []byte) {
		m := marked{Event{Head: b}, markOf(b)}
		if m.found && (m.at < 0 || m.at+wire.HeaderSize > len(b)) {
			t.Errorf("a header at %d of %d bytes", m.at, len(b))
		}
		_, _ = m.ttl(), m.depth()
	})
}
