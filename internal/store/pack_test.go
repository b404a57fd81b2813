package store

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
)

// A directory that is packed and unpacked has the same files.
func TestPack(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "home")
	files := map[string]string{"study.yaml": "blocks: 1\n", "raw/00001/client.out": "\x00\xff", "results.jsonl": "", "hosts/h.1.json": "{}"}
	for name, body := range files {
		if err := os.MkdirAll(filepath.Join(from, filepath.Dir(name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(body), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := Pack(&b, from); err != nil {
		t.Fatal(err)
	}
	whole := bytes.Clone(b.Bytes())
	if err := Unpack(&b, to); err != nil {
		t.Fatal(err)
	}
	for name, body := range files {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(got) != body {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if err := Unpack(bytes.NewReader(whole), to); err == nil {
		t.Error("unpacked over a directory with files")
	}
	b.Reset()
	none := filepath.Join(t.TempDir(), "none")
	if err := Pack(&b, none); err != nil {
		t.Error(err)
	}
	if err := Unpack(&b, none); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(none); err != nil || len(left) > 0 {
		t.Errorf("no results became %v, %v", left, err)
	}
	cut := filepath.Join(t.TempDir(), "cut")
	for _, n := range []int{0, 9, len(whole) / 2, len(whole) - 1} {
		if err := Unpack(bytes.NewReader(whole[:n]), cut); err == nil {
			t.Errorf("%d bytes of %d are a directory", n, len(whole))
		}
		if left, _ := filepath.Glob(cut + "*"); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	}
}

// An archive from elsewhere writes nothing outside of its directory, and no links.
func TestUnpackHostile(t *testing.T) {
	for name, h := range map[string]tar.Header{
		"above":    {Name: "../evil", Typeflag: tar.TypeReg},
		"absolute": {Name: "/evil", Typeflag: tar.TypeReg},
		"link":     {Name: "link", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink},
		"device":   {Name: "null", Typeflag: tar.TypeChar},
		"folder":   {Name: "../evil/", Typeflag: tar.TypeDir},
	} {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		w.Close()
		z.Close()
		in := t.TempDir()
		if err := Unpack(&b, filepath.Join(in, "home")); err == nil {
			t.Errorf("%s: unpacked", name)
		}
		if left, _ := os.ReadDir(in); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, b []byte) {
		in := t.TempDir()
		if err := Unpack(bytes.NewReader(b), filepath.Join(in, "home")); err != nil {
			if left, _ := os.ReadDir(in); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		}
	})
}
