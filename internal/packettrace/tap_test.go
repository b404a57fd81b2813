package packettrace

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/engine/wire"
	"github.com/weir-bench/weir/internal/nstest"
)

// A tap needs no more than a user namespace: it sees a packet leave a device, and enter it.
func TestTap(t *testing.T) {
	nstest.Need(t)
	loopbackUp(t)
	for _, shared := range []bool{false, true} {
		testTap(t, shared)
	}
}

// On a shared machine, a tap keeps the engine's packets only, and measures what an event costs.
func testTap(t *testing.T, shared bool) {
	a, b := pair(t)
	in, stop := io.Pipe()
	out := &firstWrite{ready: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- Tap(in, out, shared) }()
	select {
	case <-out.ready:
	case err := <-ended:
		t.Fatalf("the tap ended early: %v", err)
	}
	var errs []error
	for _, d := range [][]byte{datagram(wire.KindEcho, 5), []byte("of somebody else")} {
		_, sendErr := a.Write(d)
		_, readErr := b.Read(make([]byte, 100))
		errs = append(errs, sendErr, readErr)
	}
	stop.Close()
	if err := errors.Join(append(errs, <-ended)...); err != nil {
		t.Fatal(err)
	}
	got, err := ParseTap("here", out.Bytes())
	if err != nil || got.Lost > 0 || !shared && got.Cost > 0 {
		t.Fatal(got.Lost, got.Cost, err)
	}
	if s := strings.Join(kindsOf(got.Events, 5), ", "); s != "xmit here lo, enter here lo" {
		t.Errorf("got %q", s)
	}
	if others := slices.ContainsFunc(got.Events, func(e Event) bool { return bytes.Contains(e.Head, []byte("somebody")) }); others == shared {
		t.Errorf("shared %v: packets of others are kept: %v", shared, others)
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
	good := TapReady + "\n" + `{"at":5,"kind":"enter","node":"","dev":"lo","len":92,"cpu":0,"head":"V+E="}` + "\n" + `{"end":{"lost":2,"cost":3e-7}}` + "\n"
	got, err := ParseTap("h1", []byte(good))
	if err != nil || got.Lost != 2 || got.Cost != 3e-7 || len(got.Events) != 1 || got.Events[0].Node != "h1" || got.Events[0].Dev != "lo" || len(got.Events[0].Head) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "packet socket: operation not permitted\n", TapReady + "\n", strings.Replace(good, `"lo"`, "lo", 1),
		strings.Replace(good, `"lo"`, `"\u001b[2J"`, 1), strings.Replace(good, "enter", "drop", 1), strings.Replace(good, "3e-7", "-1", 1)} {
		if _, err := ParseTap("h1", []byte(bad)); err == nil {
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

// A tap's output comes from a machine that can be anybody's.
func FuzzParseTap(f *testing.F) {
	line := func(kind string, d []byte) string {
		return `{"at":5,"kind":"` + kind + `","dev":"eth0","len":92,"head":"` + base64.StdEncoding.EncodeToString(d) + `"}` + "\n"
	}
	for _, reply := range []wire.Kind{0, wire.KindAnswer} {
		f.Add([]byte(TapReady + "\n" + line("xmit", datagram(wire.KindEcho|reply, 5)) + `{"end":{"lost":0}}` + "\n"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := ParseTap("a", b)
		if err != nil {
			return
		}
		events := got.Events
		for i := range events {
			events[i].Clock = "a"
			other := events[i]
			other.Node, other.Clock = "b", "b"
			events = append(events, other)
		}
		trace, err := New(Recording{Network: "x", Client: "a", Server: "b", Mode: ByTaps, Count: 10, Rounds: []Round{{Events: events, Cost: got.Cost}}})
		if err == nil && trace.Text(io.Discard, nil) != nil {
			t.Error("no text")
		}
	})
}
