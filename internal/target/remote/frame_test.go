package remote

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// allFrames reads frames to the end of b and returns their payloads.
func allFrames(b []byte) (payloads [][]byte, err error) {
	r := bytes.NewReader(b)
	for n := uint32(0); ; n++ {
		payload, err := readFrame(r, n)
		if err != nil {
			return payloads, err
		}
		payloads = append(payloads, payload)
	}
}

var three = [][]byte{[]byte("first"), {}, []byte("third")}

func stream(payloads ...[]byte) (b []byte) {
	for n, p := range payloads {
		b = appendFrame(b, uint32(n), p)
	}
	return b
}

func TestFrames(t *testing.T) {
	sent := append(three, bytes.Repeat([]byte{0xA5}, maxPayload))
	got, err := allFrames(stream(sent...))
	if !errors.Is(err, io.EOF) || !slices.EqualFunc(got, sent, bytes.Equal) {
		t.Errorf("%d frames arrived, %v", len(got), err)
	}
}

// No flipped bit, lost byte, repeated or missing frame goes unnoticed, and the frames before it arrive.
func TestDamage(t *testing.T) {
	good := stream(three...)
	check := func(what string, b []byte) {
		t.Helper()
		got, err := allFrames(b)
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
		if len(got) > len(three) || !slices.EqualFunc(got, three[:len(got)], bytes.Equal) {
			t.Errorf("%s: %q arrived", what, got)
		}
	}
	for i := range good {
		for bit := range 8 {
			b := bytes.Clone(good)
			b[i] ^= 1 << bit
			check("a flipped bit", b)
		}
		check("a lost byte", slices.Delete(bytes.Clone(good), i, i+1))
		check("an added byte", slices.Insert(bytes.Clone(good), i, 'x'))
	}
	first, second := stream(three[0]), stream(three[:2]...)[len(stream(three[0])):]
	check("a repeated frame", slices.Concat(first, first))
	check("a missing frame", second)
	check("an oversized frame", appendFrame(nil, 0, make([]byte, maxPayload+1)))
	for end := range good {
		if _, err := allFrames(good[:end]); !errors.Is(err, ErrDamaged) && !errors.Is(err, io.EOF) {
			t.Errorf("an end after %d bytes: %v", end, err)
		}
	}
}

// Whatever arrives, frames that are read are those that were sent.
func FuzzReadFrame(f *testing.F) {
	f.Add(stream(three...))
	f.Add(stream(bytes.Repeat([]byte("x"), 100))[:50])
	f.Add(make([]byte, 2*headerSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := allFrames(b)
		if err == nil {
			t.Error("reading ended without a reason")
		}
		if again := stream(got...); !bytes.HasPrefix(b, again) {
			t.Errorf("%x was read as %x", b, again)
		}
	})
}

// pair returns two connected ends in the bubble of the test.
func pair(near, far times) (a, b *frames, closeAll func()) {
	ours, theirs := net.Pipe()
	a, b = newFrames(ours, ours, ours.Close, near), newFrames(theirs, theirs, theirs.Close, far)
	return a, b, func() { a.Close(); b.Close() }
}

// Idle ends stay connected; heartbeats carry nothing.
func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, closeAll := pair(nearTimes, farTimes)
		defer closeAll()
		time.Sleep(time.Hour)
		go a.Write([]byte("late"))
		got := make([]byte, 10)
		if n, err := b.Read(got); err != nil || string(got[:n]) != "late" {
			t.Errorf("%q, %v", got[:n], err)
		}
	})
}

// A reader that takes its time does not make the other end silent.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, closeAll := pair(nearTimes, farTimes)
		defer closeAll()
		go a.Write([]byte("early"))
		time.Sleep(time.Hour)
		got := make([]byte, 10)
		if n, err := b.Read(got); err != nil || string(got[:n]) != "early" {
			t.Errorf("%q, %v", got[:n], err)
		}
	})
}

// An end that hears nothing fails reads and writes in time, even writes that nobody accepts.
func TestSilence(t *testing.T) {
	for name, c := range map[string]struct {
		times times
		want  time.Duration
	}{"near": {nearTimes, 15 * time.Second}, "far": {farTimes, 30 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer theirs.Close() // never reads or writes
				f := newFrames(ours, ours, ours.Close, c.times)
				defer f.Close()
				begin, wrote := time.Now(), make(chan error, 1)
				go func() {
					_, err := f.Write(make([]byte, 4*maxPayload))
					wrote <- err
				}()
				_, err := f.Read(make([]byte, 1))
				if took := time.Since(begin); err == nil || took != c.want {
					t.Errorf("reading failed after %v with %v, want %v", took, err, c.want)
				}
				if err := <-wrote; err == nil {
					t.Error("writing succeeded")
				}
			})
		})
	}
}

// A write that fails ends the connection even if the other end still talks.
func TestBrokenWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, theirs := io.Pipe()
		defer theirs.Close()
		_, out := io.Pipe()
		out.Close()
		f := newFrames(in, out, in.Close, farTimes)
		defer f.Close()
		if _, err := f.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		if _, err := f.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("reading: %v", err)
		}
	})
}

type panicking struct{}

func (panicking) Read([]byte) (int, error)  { panic("read") }
func (panicking) Write([]byte) (int, error) { panic("write") }

// A panic in either direction ends the connection, and the error has its cause.
func TestFramesPanic(t *testing.T) {
	in, _ := io.Pipe() // never says anything
	end := func() error { return nil }
	if _, err := newFrames(panicking{}, io.Discard, end, farTimes).Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "internal error: read") {
		t.Errorf("reading: %v", err)
	}
	f := newFrames(in, panicking{}, end, farTimes)
	_, _ = f.Write([]byte("x")) // it is on its way
	if _, err := f.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "internal error: write") {
		t.Errorf("writing: %v", err)
	}
}

// An end is not closed under a write that can still end.
func TestCloseDuringWrite(t *testing.T) {
	for _, takes := range []time.Duration{brokenTime / 2, brokenTime * 2} {
		synctest.Test(t, func(t *testing.T) {
			in, theirs := net.Pipe()
			defer theirs.Close()
			begin, writes := time.Now(), true
			f := newFrames(in, writer(func(b []byte) (int, error) {
				time.Sleep(takes)
				writes = false
				return len(b), nil
			}), func() error {
				if waited := time.Since(begin); writes != (takes > brokenTime) || waited != min(takes, brokenTime) {
					t.Errorf("closed after %v, during a write of %v: %v", waited, takes, writes)
				}
				return in.Close()
			}, nearTimes)
			if _, err := f.Write([]byte("last")); err != nil {
				t.Error(err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			<-f.sent
		})
	}
}

type writer func(b []byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
