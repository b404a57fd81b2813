package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

const name = "weir.local/weir:test"

func weir(arch string) Image {
	m := elf.EM_X86_64
	if arch == "arm64" {
		m = elf.EM_AARCH64
	}
	return Program{arch, program(m, elf.PT_LOAD)}.Image()
}

// untar returns the files of an archive, in order.
func untar(t *testing.T, b []byte) (names []string, files map[string][]byte) {
	t.Helper()
	files = map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names, files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("%s belongs to %d:%d and is of %v", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		names, files[h.Name] = append(names, h.Name), body
	}
}

// blob returns what a descriptor describes, after it has compared size and digest.
func blob(t *testing.T, files map[string][]byte, d descriptor) []byte {
	t.Helper()
	b, ok := files[blobDir+strings.TrimPrefix(d.Digest, "sha256:")]
	if !ok || len(b) != d.Size || d.Digest != fmt.Sprintf("sha256:%x", sha256.Sum256(b)) {
		t.Errorf("%s %s of %d bytes: found %d bytes, %v", d.MediaType, d.Digest, d.Size, len(b), ok)
	}
	return b
}

func decode[T any](t *testing.T, b []byte) (v T) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return v
}

// checkImage follows a manifest down to the program.
func checkImage(t *testing.T, files map[string][]byte, d descriptor, want Image) {
	t.Helper()
	if d.MediaType != typeManifest || d.Platform == nil || *d.Platform != (platform{want.Arch, "linux"}) {
		t.Fatalf("descriptor %+v of the image for %s", d, want.Arch)
	}
	m := decode[manifest](t, blob(t, files, d))
	if m.SchemaVersion != 2 || m.MediaType != typeManifest || m.Config.MediaType != typeConfig || len(m.Layers) != 1 || m.Layers[0].MediaType != typeLayer {
		t.Fatalf("manifest %+v", m)
	}
	c := decode[config](t, blob(t, files, m.Config))
	if c.Architecture != want.Arch || c.OS != "linux" || c.Config.User != "65532:65532" || !slices.Equal(c.Config.Entrypoint, []string{"/weir"}) {
		t.Errorf("config %+v", c)
	}
	z, err := gzip.NewReader(bytes.NewReader(blob(t, files, m.Layers[0])))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if id := fmt.Sprintf("sha256:%x", sha256.Sum256(plain)); c.RootFS.Type != "layers" || !slices.Equal(c.RootFS.DiffIDs, []string{id}) {
		t.Errorf("layers %+v, want %s", c.RootFS, id)
	}
	if names, in := untar(t, plain); !slices.Equal(names, []string{"weir"}) || !bytes.Equal(in["weir"], want.Files[0].Body) {
		t.Errorf("the layer holds %v", names)
	}
}

func TestArchive(t *testing.T) {
	for _, images := range [][]Image{{weir("amd64")}, {weir("amd64"), weir("arm64")}} {
		b, err := Archive(name, images...)
		if err != nil {
			t.Fatal(err)
		}
		names, files := untar(t, b)
		if string(files["oci-layout"]) != `{"imageLayoutVersion":"1.0.0"}` || names[0] != "oci-layout" {
			t.Errorf("layout %s among %v", files["oci-layout"], names)
		}
		i := decode[index](t, files["index.json"])
		if i.SchemaVersion != 2 || len(i.Manifests) != 1 {
			t.Fatalf("index %+v", i)
		}
		top := i.Manifests[0]
		if a := top.Annotations; a["io.containerd.image.name"] != name || a["org.opencontainers.image.ref.name"] != "test" {
			t.Errorf("annotations %v", a)
		}
		all := []descriptor{top}
		if len(images) > 1 {
			if top.MediaType != typeIndex {
				t.Errorf("several architectures as %s", top.MediaType)
			}
			all = decode[index](t, blob(t, files, top)).Manifests
		}
		if len(all) != len(images) {
			t.Fatalf("%d images, want %d", len(all), len(images))
		}
		for i, d := range all {
			checkImage(t, files, d, images[i])
		}
		checkDocker(t, files, all)
	}
}

// checkDocker checks manifest.json, which an archive of several architectures must not have.
func checkDocker(t *testing.T, files map[string][]byte, all []descriptor) {
	t.Helper()
	b, ok := files["manifest.json"]
	if ok != (len(all) == 1) {
		t.Fatalf("%d architectures, and manifest.json is %s", len(all), b)
	}
	if !ok {
		return
	}
	m := decode[manifest](t, files[all[0].file()])
	want := dockerImage{m.Config.file(), []string{name}, []string{m.Layers[0].file()}}
	got := decode[[]dockerImage](t, b)
	if len(got) != 1 || got[0].Config != want.Config || !slices.Equal(got[0].RepoTags, want.RepoTags) || !slices.Equal(got[0].Layers, want.Layers) {
		t.Errorf("manifest.json has %+v, want %+v", got, want)
	}
}

func TestArchiveIsDeterministic(t *testing.T) {
	var first []byte
	for range 3 {
		b, err := Archive(name, weir("amd64"), weir("arm64"))
		if err != nil {
			t.Fatal(err)
		}
		if first != nil && !bytes.Equal(b, first) {
			t.Error("the same images give different archives")
		}
		first = b
	}
}

// Directories, links and permissions arrive as they are.
func TestFiles(t *testing.T) {
	b, err := layer([]File{{Name: "tmp/", Mode: 0o1777}, {Name: "bin/tool", Mode: 0o755, Body: []byte("x")}, {Name: "bin/sh", Link: "tool"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if err != nil {
			break
		}
		got = append(got, fmt.Sprintf("%c %s %o %d %s", h.Typeflag, h.Name, h.Mode, h.Size, h.Linkname))
	}
	if want := []string{"5 tmp/ 1777 0 ", "0 bin/tool 755 1 ", "2 bin/sh 0 0 tool"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestArchiveRefuses(t *testing.T) {
	for want, archive := range map[string]func() ([]byte, error){
		`"weir" has no tag`:                func() ([]byte, error) { return Archive("weir", weir("amd64")) },
		`"localhost:5000/weir" has no tag`: func() ([]byte, error) { return Archive("localhost:5000/weir", weir("amd64")) },
		"no image":                         func() ([]byte, error) { return Archive(name) },
		"two images":                       func() ([]byte, error) { return Archive(name, weir("arm64"), weir("arm64")) },
		"image for amd64":                  func() ([]byte, error) { return Archive(name, Image{Arch: "amd64", Files: []File{{Name: "a\x00b"}}}) },
	} {
		if b, err := archive(); err == nil || !strings.Contains(err.Error(), want) || b != nil {
			t.Errorf("%d bytes, error %v, want %q", len(b), err, want)
		}
	}
}
