package relay

import (
	"crypto/rand"
	"encoding/binary"
	"sync"

	"golang.org/x/crypto/nacl/box"
)

// A session holds the keys that a relay shares with one neighbor.
type session struct {
	public, private *[keySize]byte

	mu     sync.Mutex
	peer   [keySize]byte
	shared *[keySize]byte // nil until the peer's key is known
	acked  bool           // the peer knows our key
	sent   uint64         // number of sealed datagrams
}

func newSession() (*session, error) {
	s := &session{}
	var err error
	s.public, s.private, err = box.GenerateKey(rand.Reader)
	return s, err
}

// hello returns a hello or an answer: our public key, and the peer's as we know it.
func (s *session) hello(kind byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := append([]byte{kind}, s.public[:]...)
	return append(b, s.peer[:]...)
}

// readHello reads a hello or an answer of the peer, given without its kind.
func (s *session) readHello(b []byte) error {
	if len(b) != 2*keySize {
		return errMalformed
	}
	peer, ours := [keySize]byte(b[:keySize]), [keySize]byte(b[keySize:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared == nil || peer != s.peer {
		s.peer, s.shared = peer, new([keySize]byte)
		box.Precompute(s.shared, &s.peer, s.private)
	}
	s.acked = ours == *s.public
	return nil
}

func (s *session) isAcked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked
}

// seal appends b, sealed, to an empty datagram. It reports false if there is no key yet.
func (s *session) seal(datagram, b []byte) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared == nil {
		return datagram, false
	}
	s.sent++
	datagram = binary.BigEndian.AppendUint64(append(datagram, kindSealed), s.sent)
	return box.SealAfterPrecomputation(datagram, b, nonce(s.public, s.sent), s.shared), true
}

// open appends to b the content of a sealed datagram, given without its kind.
func (s *session) open(b, datagram []byte) ([]byte, error) {
	if len(datagram) < counterSize+tagSize {
		return b, errMalformed
	}
	s.mu.Lock()
	shared, peer := s.shared, s.peer
	s.mu.Unlock()
	if shared == nil {
		return b, errForged
	}
	b, ok := box.OpenAfterPrecomputation(b, datagram[counterSize:], nonce(&peer, binary.BigEndian.Uint64(datagram)), shared)
	if !ok {
		return b, errForged
	}
	return b, nil
}

// nonce returns a unique value per datagram under one shared key: the ends have different public
// keys, and each counts its datagrams.
func nonce(sender *[keySize]byte, n uint64) *[24]byte {
	var x [24]byte
	copy(x[:16], sender[:])
	binary.BigEndian.PutUint64(x[16:], n)
	return &x
}
