package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 678, time.FixedZone("", 3600))

func sample(t *testing.T) []File {
	t.Helper()
	from := filepath.Join(t.TempDir(), "any")
	if err := os.WriteFile(from, []byte("two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []File{{Name: "results/raw/b", From: from}, {Name: "reproduce", Body: []byte("#!/bin/sh\n"), Exec: true}, {Name: "results/raw/a", Body: []byte("one\n")}}
}

func archive(t *testing.T, files []File) ([]byte, string) {
	t.Helper()
	var b bytes.Buffer
	sum, err := Write(&b, "pkg", at, files)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), sum
}

// stored writes an archive to a file.
func stored(t *testing.T, b []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pkg.tar.gz")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestArchive(t *testing.T) {
	files := sample(t)
	b, sum := archive(t, files)
	slices.Reverse(files)
	if again, _ := archive(t, files); !bytes.Equal(b, again) {
		t.Error("equal files make different archives")
	}
	c, err := Check(stored(t, b))
	if err != nil || c.Sum != sum || !slices.Equal(c.Files, []string{"reproduce", "results/raw/a", "results/raw/b"}) {
		t.Fatalf("%+v, %v; want the sum %s", c, err, sum)
	}
	dir := filepath.Join(t.TempDir(), "out")
	if c, err := Unpack(stored(t, b), dir); err != nil || c.Sum != sum {
		t.Fatalf("%+v, %v", c, err)
	}
	if c, err := CheckDir(dir); err != nil || c.Sum != sum {
		t.Errorf("%+v, %v", c, err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "results/raw/b"))
	info, bad := os.Stat(filepath.Join(dir, "reproduce"))
	if err != nil || bad != nil || string(got) != "two\n" || info.Mode()&0o100 == 0 {
		t.Errorf("%q, %v, %v, %v", got, err, bad, info.Mode())
	}
	if _, err := Unpack(stored(t, b), dir); !errors.Is(err, os.ErrExist) {
		t.Errorf("unpacked over what is there: %v", err)
	}
}

// A change of any byte, wherever it is, is refused, and so is an archive that ends early. Bytes 3 to 9 of gzip are reserved
// bits, a time, a level and a system (RFC 1952), which say nothing about the content.
func TestDamaged(t *testing.T) {
	b, _ := archive(t, sample(t))
	for i := range b {
		if i >= 3 && i < 10 {
			continue
		}
		bad := bytes.Clone(b)
		bad[i] ^= 0x20
		if c, err := Check(stored(t, bad)); err == nil {
			t.Errorf("byte %d of %d: %+v", i, len(b), c)
		}
	}
	for _, n := range []int{0, 1, 10, len(b) / 2, len(b) - 9, len(b) - 1} {
		dir := filepath.Join(t.TempDir(), "out")
		if _, err := Unpack(stored(t, b[:n]), dir); err == nil {
			t.Errorf("%d of %d bytes are accepted", n, len(b))
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%d bytes leave a directory: %v", n, err)
		}
	}
}

// An archive that ends early says in which file.
func TestCut(t *testing.T) {
	random := make([]byte, 40_000) // does not compress
	rand.NewChaCha8([32]byte{}).Read(random)
	b, _ := archive(t, []File{{Name: "a", Body: []byte("1")}, {Name: "b", Body: random}, {Name: "c", Body: random[:9]}})
	for n, want := range map[int]string{len(b) / 2: "b: unexpected EOF: the archive is damaged", len(b) - 8: "the archive is damaged", 12: "before the first file: unexpected EOF: the archive is damaged"} {
		if _, err := Check(stored(t, b[:n])); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d of %d bytes: %v, want %q", n, len(b), err, want)
		}
	}
}

// made is an archive by another program.
func made(t *testing.T, headers ...tar.Header) string {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	w := tar.NewWriter(zip)
	for _, h := range headers {
		body := h.Linkname
		if h.Typeflag == 0 {
			h.Typeflag, h.Linkname, h.Size = tar.TypeReg, "", int64(len(body))
		} else {
			body = ""
		}
		if err := errors.Join(w.WriteHeader(&h), func() error { _, err := io.WriteString(w, body); return err }()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return stored(t, b.Bytes())
}

// Whoever makes an archive can neither swap files nor write elsewhere. The error names the file.
func TestHostile(t *testing.T) {
	sums := func(files ...string) tar.Header {
		var list strings.Builder
		for i := 0; i < len(files); i += 2 {
			fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256([]byte(files[i+1])), files[i])
		}
		return tar.Header{Name: "p/" + SumsFile, Linkname: list.String()}
	}
	file := func(name, body string) tar.Header { return tar.Header{Name: name, Linkname: body} }
	good := sums("a", "1", "b", "2")
	for want, headers := range map[string][]tar.Header{
		"":                                 {good, file("p/a", "1"), file("p/b", "2")},
		"a was changed":                    {good, file("p/a", "2"), file("p/b", "1")}, // swapped
		"b was changed":                    {good, file("p/a", "1"), file("p/b", "")},
		"b is missing":                     {good, file("p/a", "1")},
		"c is missing":                     {sums("a", "1", "b", "2", "c", "3"), file("p/a", "1"), file("p/b", "2")}, // a list that was forged
		"x is not in SHA256SUMS":           {sums("a", "1"), file("p/a", "1"), file("p/x", "2")},
		"SHA256SUMS: a occurs twice":       {sums("a", "1", "a", "2"), file("p/a", "1")},
		"SHA256SUMS is not in SHA256":      {good, file("p/a", "1"), file("p/b", "2"), sums("a", "2", "b", "1")}, // a second list
		`"p/dir/" is not a regular file`:   {good, {Name: "p/dir/", Typeflag: tar.TypeDir}},
		`"/etc/x" leads out`:               {sums("etc/x", "1"), file("/etc/x", "1")},
		`"p//a" leads out`:                 {good, file("p//a", "1")},
		"c is not in SHA256SUMS":           {good, file("p/a", "1"), file("p/b", "2"), file("p/c", "3")},
		"a occurs twice":                   {good, file("p/a", "1"), file("p/a", "1"), file("p/b", "2")},
		"not a package: its first file":    {file("p/a", "1"), good, file("p/b", "2")},
		"not a package: it has no":         {},
		`"../a" leads out`:                 {good, file("../a", "1")},
		`"p/../../a" leads out`:            {good, file("p/../../a", "1")},
		`"/a" leads out`:                   {good, file("/a", "1")},
		`"q/a" leads out`:                  {good, file("q/a", "1")},
		`"p/a" is not a regular file`:      {good, {Name: "p/a", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}},
		`"p/b" is not a regular file`:      {good, {Name: "p/b", Typeflag: tar.TypeLink, Linkname: "p/a"}},
		`"p/dev" is not a regular file`:    {good, {Name: "p/dev", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 5}},
		`"p/pipe" is not a regular file`:   {good, {Name: "p/pipe", Typeflag: tar.TypeFifo}},
		`"../x" is not the name of a file`: {sums("../x", "1")},
		"line 1 is not as sha256sum":       {file("p/"+SumsFile, "nonsense\n")},
		"SHA256SUMS: no file":              {file("p/"+SumsFile, "")},
	} {
		name, dir := made(t, headers...), filepath.Join(t.TempDir(), "out")
		_, err := Unpack(name, dir)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, there := os.Stat(dir); (there == nil) != (want == "") {
			t.Errorf("%s: left a directory: %v", want, there)
		}
	}
}

// What was changed after unpacking is named, too.
func TestChangedDirectory(t *testing.T) {
	b, _ := archive(t, sample(t))
	for want, change := range map[string]func(dir string) error{
		"results/raw/a was changed":          func(d string) error { return os.WriteFile(filepath.Join(d, "results/raw/a"), []byte("one!"), 0o600) },
		"results/raw/b is missing":           func(d string) error { return os.Remove(filepath.Join(d, "results/raw/b")) },
		"results/raw/c is not in SHA256SUMS": func(d string) error { return os.WriteFile(filepath.Join(d, "results/raw/c"), nil, 0o600) },
		"reproduce was changed":              func(d string) error { return os.WriteFile(filepath.Join(d, "reproduce"), nil, 0o600) },
		"not a package":                      func(d string) error { return os.Remove(filepath.Join(d, SumsFile)) },
		"path escapes from parent": func(d string) error {
			return errors.Join(os.Remove(filepath.Join(d, "reproduce")), os.Symlink("/etc/passwd", filepath.Join(d, "reproduce")))
		},
		"results/raw/a was changed: it differs": func(d string) error { // two trials of one size have changed places
			a, b := filepath.Join(d, "results/raw/a"), filepath.Join(d, "results/raw/b")
			return errors.Join(os.Rename(a, a+"2"), os.Rename(b, a), os.Rename(a+"2", b))
		},
		"": func(d string) error { return os.WriteFile(filepath.Join(d, "notes"), nil, 0o600) },
	} {
		dir := filepath.Join(t.TempDir(), "out")
		if _, err := Unpack(stored(t, b), dir); err != nil {
			t.Fatal(err)
		}
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := CheckDir(dir); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	for want, files := range map[string][]File{
		"two files are called a":          {{Name: "a"}, {Name: "a"}},
		"two files are called SHA256SUMS": {{Name: SumsFile}},
		"is not the name of a file":       {{Name: "a/../b"}},
		"no such file":                    {{Name: "a", From: "nowhere"}},
	} {
		if _, err := Write(io.Discard, "p", at, files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
