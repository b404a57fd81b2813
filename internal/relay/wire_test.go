package relay

import (
	"bytes"
	"errors"
	"testing"
)

func frame(n int, fill byte) []byte { return bytes.Repeat([]byte{fill}, n) }

func TestSplit(t *testing.T) {
	two := appendFrame(appendFrame(nil, frame(14, 1)), frame(1500, 2))
	for _, c := range []struct {
		name string
		b    []byte
		want int // frames; 0 if malformed
	}{
		{"one", appendFrame(nil, frame(60, 1)), 1},
		{"two", two, 2},
		{"empty", nil, 0},
		{"half a length", []byte{0}, 0},
		{"no frame", []byte{0, 14}, 0},
		{"shorter than a header", appendFrame(nil, frame(13, 1)), 0},
		{"cut", two[:len(two)-1], 0},
		{"more", append(bytes.Clone(two), 0), 0},
	} {
		var got [][]byte
		err := split(c.b, func(f []byte) { got = append(got, f) })
		if len(got) != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%s: %d frames, %v, want %d", c.name, len(got), err, c.want)
		}
	}
}

// greeted returns two sessions that know each other's keys.
func greeted(t testing.TB) (a, b *session) {
	t.Helper()
	a, err := newSession()
	if err != nil {
		t.Fatal(err)
	}
	b, err = newSession()
	if err != nil {
		t.Fatal(err)
	}
	hear := func(s *session, hello []byte) {
		if err := s.readHello(hello[kindSize:]); err != nil {
			t.Fatal(err)
		}
	}
	hear(b, a.hello(kindHello))
	if b.isAcked() {
		t.Error("b believes that a knows its key, but a does not")
	}
	hear(a, b.hello(kindAnswer))
	hear(b, a.hello(kindAnswer))
	if !a.isAcked() || !b.isAcked() {
		t.Error("the keys are exchanged, but one side does not know")
	}
	return a, b
}

func TestSession(t *testing.T) {
	a, b := greeted(t)
	plain := appendFrame(nil, frame(60, 7))
	one, ok := a.seal(nil, plain)
	two, ok2 := a.seal(nil, plain)
	if !ok || !ok2 || bytes.Equal(one, two) || len(one) != len(plain)+Overhead(true) {
		t.Fatalf("%v, %v, %d bytes of %d", ok, ok2, len(one), len(plain))
	}
	for _, sealed := range [][]byte{one, two} {
		if got, err := b.open(nil, sealed[kindSize:]); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%x, %v", got, err)
		}
	}
	if _, err := a.open(nil, one[kindSize:]); !errors.Is(err, errForged) {
		t.Errorf("a accepts its own datagram: %v", err)
	}
	for i := range one[kindSize:] {
		bad := bytes.Clone(one[kindSize:])
		bad[i] ^= 1
		if got, err := b.open(nil, bad); !errors.Is(err, errForged) || len(got) != 0 {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	if _, err := b.open(nil, one[kindSize:kindSize+counterSize]); !errors.Is(err, errMalformed) {
		t.Errorf("too short: %v", err)
	}
	if err := b.readHello(make([]byte, 63)); !errors.Is(err, errMalformed) {
		t.Errorf("half a hello: %v", err)
	}
	fresh, err := newSession()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := fresh.seal(nil, plain); ok {
		t.Error("sealed without a key")
	}
	if _, err := fresh.open(nil, one[kindSize:]); !errors.Is(err, errForged) {
		t.Errorf("opened without a key: %v", err)
	}
	// A restarted neighbor has a new key, and the session adopts it.
	if err := b.readHello(fresh.hello(kindHello)[kindSize:]); err != nil || b.isAcked() {
		t.Errorf("%v, acked %v", err, b.isAcked())
	}
	if err := fresh.readHello(b.hello(kindAnswer)[kindSize:]); err != nil {
		t.Fatal(err)
	}
	again, _ := fresh.seal(nil, plain)
	if got, err := b.open(nil, again[kindSize:]); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("%x, %v", got, err)
	}
}

// Any foreign datagram yields either an error or whole frames that account for all its bytes.
func FuzzTake(f *testing.F) {
	a, b := greeted(f)
	plain := appendFrame(appendFrame(nil, frame(14, 1)), frame(60, 2))
	sealed, _ := a.seal(nil, plain)
	f.Add(append([]byte{kindFrames}, plain...))
	f.Add(sealed)
	f.Add([]byte{})
	f.Add([]byte{kindFrames, 0, 14})
	f.Add(append([]byte{kindAnswer}, make([]byte, 2*keySize)...))
	f.Fuzz(func(t *testing.T, datagram []byte) {
		for _, l := range []*link{{}, {session: &session{public: b.public, private: b.private, peer: b.peer, shared: b.shared}}} {
			if l.session != nil && len(datagram) > 0 && datagram[0] == kindHello {
				return // the answer needs a socket
			}
			var got []byte
			buf, err := l.take(nil, datagram, func(frame []byte) {
				if len(frame) < minFrame {
					t.Errorf("a frame of %d bytes", len(frame))
				}
				got = appendFrame(got, frame)
			})
			held := buf
			if l.session == nil && len(datagram) > 0 {
				held = datagram[kindSize:]
			}
			if err != nil && got != nil || err == nil && got != nil && !bytes.Equal(got, held) {
				t.Errorf("%x: frames %x, error %v", datagram, got, err)
			}
		}
	})
}

// A hello of anybody is refused whole, or its key is adopted; and a neighbor that greets again is heard again.
func FuzzHello(f *testing.F) {
	a, b := greeted(f)
	f.Add(a.hello(kindHello)[kindSize:])
	f.Add(a.hello(kindAnswer)[kindSize : 1+keySize])
	f.Add(make([]byte, 2*keySize))
	f.Add(bytes.Repeat([]byte{0xff}, 2*keySize))
	known := a.hello(kindAnswer)[kindSize:]
	plain := appendFrame(nil, frame(60, 7))
	sealed, _ := a.seal(nil, plain)
	f.Fuzz(func(t *testing.T, hello []byte) {
		s := &session{public: b.public, private: b.private, peer: b.peer, shared: b.shared, acked: true}
		err := s.readHello(hello)
		switch {
		case (err == nil) != (len(hello) == 2*keySize):
			t.Fatalf("%d bytes: %v", len(hello), err)
		case err != nil && (!s.isAcked() || s.peer != b.peer):
			t.Error("a refused hello changed the session")
		case err == nil && (!bytes.Equal(s.peer[:], hello[:keySize]) || s.isAcked() != bytes.Equal(hello[keySize:], s.public[:])):
			t.Errorf("%x makes peer %x, acked %v", hello, s.peer, s.isAcked())
		}
		if err := s.readHello(known); err != nil || !s.isAcked() {
			t.Fatalf("the neighbor's own hello: %v, acked %v", err, s.isAcked())
		}
		if got, err := s.open(nil, sealed[kindSize:]); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%x, %v", got, err)
		}
	})
}

func FuzzParseNeighbor(f *testing.F) {
	f.Add("10.0.0.1:5000,10.0.0.2:5000")
	f.Add("[fe80::1%eth0]:1,[::ffff:1.2.3.4]:0")
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseNeighbor(s)
		if err == nil && !(n.Local.IsValid() && n.Remote.IsValid()) {
			t.Errorf("%q: %+v", s, n)
		}
	})
}
