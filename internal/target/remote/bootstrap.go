package remote

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"os"
	"strings"

	"github.com/weir-bench/weir/internal/foreign"
)

// A talk is what the ends say before the first frame: lines of text that hold a nonce of the near
// end. Everything else that arrives is not for weir: banners, warnings, what login scripts print.
type talk struct {
	in    *bufio.Reader
	nonce string
	seen  []byte // since the last answer
}

// maxBanner bounds what can arrive before an answer, bytes.
const maxBanner = 64 << 10

// answer returns the rest of the next line that has word and the nonce in it.
func (t *talk) answer(word string) (string, error) {
	mark := []byte(word + " " + t.nonce + " ")
	t.seen = nil
	for begin := 0; ; {
		c, err := t.in.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return "", fmt.Errorf("the other end closed the connection, having printed: %s", last(t.seen))
		case err != nil && len(t.seen) > 0:
			return "", fmt.Errorf("%w; it printed: %s", err, last(t.seen))
		case err != nil:
			return "", err
		case len(t.seen) == maxBanner:
			return "", fmt.Errorf("%d bytes arrived and none of them from weir, the last of them: %s; silence what prints them, such as a login script", len(t.seen), last(t.seen))
		}
		t.seen = append(t.seen, c)
		if c != '\n' {
			continue
		}
		if _, text, ok := bytes.Cut(t.seen[begin:len(t.seen)-1], mark); ok {
			if bytes.HasSuffix(text, []byte("\r")) {
				return "", errors.New("a terminal in the connection changes bytes; switch it off (ssh: RequestTTY no; kubectl: no --tty)")
			}
			return foreign.Text(strings.TrimSpace(string(text))), nil
		}
		begin = len(t.seen)
	}
}

// bootWord begins the lines of Script.
const bootWord = "weir-bootstrap"

// push plays the near end of Script and returns when the far end is about to become the agent. It
// calls sending when it begins to send the program.
func (t *talk) push(out io.Writer, programs Programs, sending func()) error {
	machine, err := t.boot("machine")
	if err != nil {
		return err
	}
	path, err := programs.For(machine)
	if err != nil {
		return err
	}
	program, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the program for the machine: %w", err)
	}
	defer program.Close()
	size, sum, err := cksum(program)
	if err == nil {
		_, err = program.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("read the program for the machine: %w", err)
	}
	// The far end's reason for not reading is better than the error of a failed write.
	_, _ = fmt.Fprintf(out, "%d %d\n", size, sum)
	if _, err := t.boot("into"); err != nil {
		return err
	}
	sending()
	sent := make(chan bool)
	go func() {
		defer close(sent)
		_, _ = io.Copy(out, io.LimitReader(program, size))
	}()
	_, err = t.boot("ready")
	if err == nil {
		<-sent
	}
	return err
}

// boot returns the text of Script's next line, which must be about what.
func (t *talk) boot(what string) (string, error) {
	line, err := t.answer(bootWord)
	if err != nil {
		return "", err
	}
	is, text, _ := strings.Cut(line, " ")
	switch is {
	case what:
		return text, nil
	case "tool":
		return "", fmt.Errorf("the machine has no program %s, which weir needs to get there; install it (busybox or coreutils)", text)
	case "directory":
		return "", fmt.Errorf("no directory of the machine can hold and run weir: %s; make room in one of them, or make the directory ~/.cache where programs can run", text)
	case "copy":
		return "", fmt.Errorf("weir did not arrive whole on the machine: %s; try again", text)
	case "start":
		return "", fmt.Errorf("weir does not run on the machine: %s", text)
	}
	return "", fmt.Errorf("unexpected answer %.80q of the machine's shell, want %s", line, what)
}

// cksum returns the length of r and its checksum as cksum(1) of POSIX prints it: the CRC of Ethernet
// over bits in the other direction, starting with 0, and over the length.
func cksum(r io.Reader) (size int64, sum uint32, err error) {
	crc := ^uint32(0) // crc32.Update inverts it
	b := make([]byte, 64<<10)
	update := func(b []byte) {
		for i := range b {
			b[i] = bits.Reverse8(b[i])
		}
		crc = crc32.Update(crc, crc32.IEEETable, b)
	}
	for {
		n, err := r.Read(b)
		size += int64(n)
		update(b[:n])
		switch {
		case errors.Is(err, io.EOF):
			for n := size; n > 0; n >>= 8 {
				update([]byte{byte(n)})
			}
			return size, bits.Reverse32(crc), nil
		case err != nil:
			return 0, 0, err
		}
	}
}
