package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// errSilent is what reading or writing returns when the other end does nothing
// until the deadline.
var errSilent = errors.New("the other end is silent")

// readFull fills b, or returns why it could not. A short read is not an answer.
func readFull(fd int, b []byte, deadline int64, s *stopper) error {
	for got := 0; got < len(b); {
		n, errno := recv(fd, b[got:])
		switch {
		case again(errno):
			if err := mayWait(deadline, s); err != nil {
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

// writeFull writes all of b, or returns why it could not.
func writeFull(fd int, b []byte, deadline int64, s *stopper) error {
	for len(b) > 0 {
		n, errno := send(fd, b)
		switch {
		case again(errno):
			if err := mayWait(deadline, s); err != nil {
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

func mayWait(deadline int64, s *stopper) error {
	switch {
	case s.stopped():
		return errStopped
	case now() > deadline:
		return errSilent
	}
	return nil
}

// readJSON reads one line into v. It takes a byte at a time, because what follows
// the line is not its to read; control messages are rare and short.
func readJSON(fd int, v any, deadline int64, s *stopper) error {
	line, err := readLine(fd, deadline, s)
	if err != nil {
		return err
	}
	return strictJSON(line, v)
}

func readLine(fd int, deadline int64, s *stopper) ([]byte, error) {
	var line [maxLine]byte
	for n := range line {
		if err := readFull(fd, line[n:n+1], deadline, s); err != nil {
			return nil, err
		}
		if line[n] == '\n' {
			return line[:n], nil
		}
	}
	return nil, fmt.Errorf("a control message is longer than %d bytes", maxLine)
}

func writeJSON(fd int, v any, deadline int64, s *stopper) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeFull(fd, append(b, '\n'), deadline, s)
}
