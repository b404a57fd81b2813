package foreign

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(at("file"), []byte("12345"), 0o600), syscall.Mkfifo(at("pipe"), 0o600),
		os.Symlink("/dev/zero", at("zero")), os.Symlink("file", at("link")), os.Truncate(at("file"), 5)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		limit int64
		want  string // of the error; "" for the content
	}{
		"file": {5, ""}, "link": {5, ""},
		"pipe": {5, "not a regular file"}, "zero": {5, "not a regular file"}, ".": {5, "is a directory"},
	} {
		b, err := ReadFile(at(name), c.limit)
		if c.want == "" && (err != nil || string(b) != "12345") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %q, %v, want %q", name, b, err, c.want)
		}
	}
	if _, err := ReadFile(at("file"), 4); err == nil || !strings.Contains(err.Error(), "5 bytes, more than 4") {
		t.Errorf("too long: %v", err)
	}
	if _, err := ReadFile(at("none"), 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	// A file of the kernel has no size in advance.
	if b, err := ReadFile("/proc/self/stat", 5); err == nil {
		t.Errorf("a file that has more than its size: %q", b)
	}
}

func TestReadFrom(t *testing.T) {
	dir := t.TempDir()
	inside, outside := filepath.Join(dir, "d"), filepath.Join(dir, "secret")
	if err := errors.Join(os.Mkdir(inside, 0o700), os.WriteFile(outside, []byte("s"), 0o600), os.WriteFile(filepath.Join(inside, "own"), []byte("o"), 0o600),
		os.Symlink("../secret", filepath.Join(inside, "link")), syscall.Mkfifo(filepath.Join(inside, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(inside)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if b, err := ReadFrom(root, "own", 1); err != nil || string(b) != "o" {
		t.Errorf("%q, %v", b, err)
	}
	for _, name := range []string{"link", "pipe", "../secret"} {
		if b, err := ReadFrom(root, name, 10); err == nil {
			t.Errorf("%s: read %q", name, b)
		}
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain, äöü → 世界\n\tindented": "plain, äöü → 世界\n\tindented",
		"\x1b[31mred\x1b[0m":          `\x1b[31mred\x1b[0m`,
		"a\rb\x00\x7f\a":              `a\x0db\x00\x7f\x07`,
		"a\r\nb":                      "a\nb",
		"\u009b31m":                   `\u009b31m`, // CSI in one character
		"txt.\u202egpj":               `txt.\u202egpj`,
		"\xff\xfe":                    `\xff\xfe`,
		"\ufffd":                      "\ufffd",
	} {
		if got := Text(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b\xff\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		once := Text(s)
		if strings.ContainsFunc(once, acts) || Text(once) != once {
			t.Errorf("%q: %q, then %q", s, once, Text(once))
		}
	})
}

const hostile = "=a\"b'c\\d<e>&]]>\x00\x01\x1b[31m\x7f\xff\xfe\r\n::error::x%0A,:\u2028\u202e\u0085\ufffe| `f` *g* _h_ ~i"

// A text stays one text in every format: no line ends, no quote closes, nothing becomes markup, a command or a formula.
func TestEscapes(t *testing.T) {
	for name, c := range map[string]struct{ got, never string }{
		"Line":     {Line(hostile), "\x00\x01\x1b\x7f\r\n\u0085\u2028\u202e"},
		"Field":    {Field(hostile), " \t\r\n\u0085\u2028"},
		"XML":      {XML(hostile), "<>\"'\x00\x01\x1b\r\n\u202e\ufffe"},
		"Markdown": {Markdown(hostile), "<\r\n"},
		"Label":    {Label(hostile), "\x00\x01\x1b\x7f\r\n\u202e"},
		"TeX":      {TeX(hostile), "\x00\x01\x1b\x7f\r\n\u2028\u202e@\"<>|`\ufffd"},
		"Cell":     {Cell(hostile), "\x00\x01\x1b\x7f\r\u202e"},
		"Command":  {Command(hostile), "\x00\x01\x1b\x7f\r\n\u202e"},
		"Property": {Property(hostile), "\x00\x01\x1b\x7f\r\n\u202e:,"},
		"Plain":    {Plain(hostile), "\x00\x01\x1b\x7f\r\n"},
	} {
		if i := strings.IndexAny(c.got, c.never); i >= 0 {
			t.Errorf("%s has %q in %q", name, c.got[i], c.got)
		}
	}
	if s := Label(`\"`); s != `\\\"` {
		t.Errorf("a quote ends a label: %s", s)
	}
	if s := Markdown("a|`b`*c*_d_~e~"); s != "a\\|\\`b\\`\\*c\\*\\_d\\_\\~e\\~" {
		t.Errorf("Markdown: %s", s)
	}
	if s := TeX(`\5%_{@}`); s != `\textbackslash{}5\%\_\textbraceleft{}\symbol{64}\textbraceright{}` {
		t.Errorf("TeX: %s", s)
	}
	for in, want := range map[string]string{"": "", "bridge": "bridge", "-1.5e9": "-1.5e9", "+3": "+3", "-": "'-", "=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)",
		"\tx": "'\tx", "\rx": `\x0dx`, "a\x1b[0m": `a\x1b[0m`, "-cmd|' /C calc'!A0": "'-cmd|' /C calc'!A0", "1-2": "1-2"} {
		if got := Cell(in); got != want {
			t.Errorf("Cell(%q) = %q, want %q", in, got, want)
		}
	}
	if Printable("a", "b\x1b") || Printable("\u202e") || !Printable("a b", "世界") {
		t.Error("Printable does not tell what a terminal obeys")
	}
}
