package relay

import (
	"crypto/rand"
	"encoding/binary"
	"sync"

	"golang.org/x/crypto/nacl/box"
)

// A session is the keys that a relay shares with one neighbour.
type session struct {
	public, private *[keySize]byte

	mu     sync.Mutex
	peer   [keySize]byte
	shared *[keySize]byte // nil until the peer's key is known
	acked  bool           // the peer knows our key
	sent   uint64         // datagrams that were sealed
}

func newSession() (*session, error) {
	s := &session{}
	var err error
	s.public, s.private, err = box.GenerateKey(rand.Reader)
	return s, err
}

// hello is what tells the peer our key, and that we know its: a hello or an answer.
func (s *session) hello(kind byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := append([]byte{kind}, s.public[:]...)
	return append(b, s.peer[:]...)
}

// heard takes a hello or an answer of the peer without its kind.
func (s *session) heard(b []byte) error {
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

// seal appends b, sealed, to a datagram that is empty so far. It reports false
// when there is no key.
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

// open appends to b what a sealed datagram holds, which is given without its kind.
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

// nonce is different for every datagram under one shared key: the two ends have
// different public keys, and each counts its datagrams.
func nonce(sender *[keySize]byte, n uint64) *[24]byte {
	var x [24]byte
	copy(x[:16], sender[:])
	binary.BigEndian.PutUint64(x[16:], n)
	return &x
}
