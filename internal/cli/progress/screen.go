package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"

	"github.com/weir-bench/weir/internal/lang"
)

// A screen keeps lines at the bottom of a terminal. Everything else is printed above them with print, so
// that they never scroll away. It uses no color.
type screen struct {
	out   io.Writer
	size  func() (cols, rows int)
	lines []string // as drawn; none when the screen is clear
}

// newScreen returns the screen of a file; nil if it is not a terminal, or one that cannot move its cursor.
func newScreen(f *os.File) *screen {
	if t := os.Getenv("TERM"); !term.IsTerminal(int(f.Fd())) || t == "" || t == "dumb" {
		return nil
	}
	return &screen{out: f, size: func() (int, int) {
		cols, rows, err := term.GetSize(int(f.Fd()))
		if err != nil || cols == 0 || rows == 0 { // a serial console does not say
			return 80, 24
		}
		return cols, rows
	}}
}

// echo is the room that a line leaves for the ^C that a terminal prints.
const echo = 3

// draw replaces the lines. On a terminal with too few rows, the last lines remain.
func (s *screen) draw(lines []string) {
	cols, rows := s.size()
	var b strings.Builder
	s.erase(&b, cols)
	s.lines = nil
	for _, line := range lines[max(0, len(lines)-max(1, rows-1)):] {
		line = strings.Map(visible, line)
		s.lines = append(s.lines, lang.Fit(line, cols-echo))
	}
	b.WriteString(strings.Join(s.lines, "\n"))
	_, _ = io.WriteString(s.out, b.String()) // one write, so that nothing flickers
}

// visible replaces what would move the cursor: the reason of a failed trial can come from any tool.
func visible(r rune) rune {
	if !unicode.IsPrint(r) {
		return '·'
	}
	return r
}

// erase clears the lines and leaves the cursor where the first one began. On a terminal that has become
// narrower since, each line can take several rows.
func (s *screen) erase(b *strings.Builder, cols int) {
	if s.lines == nil {
		return
	}
	up := -1
	for _, line := range s.lines {
		up += 1 + max(0, lang.Columns(line)-1)/max(1, cols)
	}
	if up > 0 {
		fmt.Fprintf(b, "\x1b[%dA", up) // CUU
	}
	b.WriteString("\r\x1b[J") // ED: to the end of the screen
}

// print prints text above the lines.
func (s *screen) print(text string) {
	lines := s.lines
	s.clear()
	_, _ = fmt.Fprintln(s.out, text)
	if lines != nil {
		s.draw(lines)
	}
}

func (s *screen) clear() {
	cols, _ := s.size()
	var b strings.Builder
	s.erase(&b, cols)
	s.lines = nil
	_, _ = io.WriteString(s.out, b.String())
}
