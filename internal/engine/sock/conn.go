package sock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/weir-bench/weir/internal/engine/wire"
)

// ErrSilent means that the other end did nothing until the deadline.
var ErrSilent = errors.New("the other end is silent")

// ReadFull fills b, or returns why it could not: io.EOF if the connection ended before
// the first byte.
func ReadFull(fd int, b []byte, deadline int64, s *Stopper) error {
	for got := 0; got < len(b); {
		n, errno := Recv(fd, b[got:])
		switch {
		case Again(errno):
			if err := MayWait(deadline, s); err != nil {
				return err
			}
		case errno != 0:
			return errno
		case n == 0 && got > 0:
			return io.ErrUnexpectedEOF
		case n == 0:
			return io.EOF
		default:
			got += n
		}
	}
	return nil
}

// WriteFull writes all of b, or returns why it could not.
func WriteFull(fd int, b []byte, deadline int64, s *Stopper) error {
	for len(b) > 0 {
		n, errno := Send(fd, b)
		switch {
		case Again(errno):
			if err := MayWait(deadline, s); err != nil {
				return err
			}
		case errno != 0:
			return errno
		default:
			b = b[n:]
		}
	}
	return nil
}

// MayWait returns nil unless the run was stopped or the deadline has passed.
func MayWait(deadline int64, s *Stopper) error {
	switch {
	case s.Stopped():
		return ErrStopped
	case Now() > deadline:
		return ErrSilent
	}
	return nil
}

// ReadJSON reads one line into v.
func ReadJSON(fd int, v any, deadline int64, s *Stopper) error {
	line, err := ReadLine(fd, deadline, s)
	if err != nil {
		return err
	}
	return wire.StrictJSON(line, v)
}

// ReadLine reads one line, without its newline. It reads byte by byte because what
// follows belongs to somebody else; control messages are rare and short.
func ReadLine(fd int, deadline int64, s *Stopper) ([]byte, error) {
	var line [wire.MaxLine]byte
	for n := range line {
		if err := ReadFull(fd, line[n:n+1], deadline, s); err != nil {
			return nil, err
		}
		if line[n] == '\n' {
			return line[:n], nil
		}
	}
	return nil, fmt.Errorf("control message is longer than %d bytes", wire.MaxLine)
}

// WriteJSON writes v as one line.
func WriteJSON(fd int, v any, deadline int64, s *Stopper) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return WriteFull(fd, append(b, '\n'), deadline, s)
}
