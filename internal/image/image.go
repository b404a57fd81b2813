// Package image makes container images without an engine or a registry: archives that container
// runtimes and registries read. weir's own image holds only this program, so nothing is downloaded.
//
// The package must not know which engine runs the containers, nor write files.
package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A File is a file of an image; one with a Link is a symbolic link.
type File struct {
	Name string // path without a leading slash; one that ends in a slash is a directory
	Mode int64  // permissions, with the sticky bit as 0o1000
	Link string
	Body []byte
}

// An Image is what containers on one architecture get.
type Image struct {
	Arch   string // as Go calls it (GOARCH)
	Files  []File
	Config Config
}

// A Config is how a container starts.
type Config struct {
	Entrypoint []string `json:",omitempty"`
	Cmd        []string `json:",omitempty"`
	Env        []string `json:",omitempty"`
	User       string   `json:",omitempty"` // UID:GID
}

// The formats, from the OCI image specification (media-types.md, config.md, manifest.md,
// image-index.md, image-layout.md).
const (
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeIndex    = "application/vnd.oci.image.index.v1+json"
)

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type config struct {
	platform
	Config Config `json:"config"`
	RootFS rootFS `json:"rootfs"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

// A dockerImage is an entry of manifest.json, which `docker load` before Docker 25 and `crane push`
// read instead of the OCI layout (moby/image/tarexport).
type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// Archive returns a tar(1) archive with the image called name, such as example.org/weir:v1: an OCI
// layout with one image per architecture. Equal arguments give equal bytes. An archive of one
// architecture also has Docker's manifest.json, which has no place for more.
func Archive(name string, images ...Image) ([]byte, error) {
	_, tag, ok := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
	if !ok {
		return nil, fmt.Errorf("image name %q has no tag; write NAME:TAG", name)
	}
	var a archive
	var manifests []descriptor
	var docker []dockerImage
	seen := map[string]bool{}
	for _, img := range images {
		if seen[img.Arch] {
			return nil, fmt.Errorf("two images for the architecture %s", img.Arch)
		}
		seen[img.Arch] = true
		m, d, err := a.image(img)
		if err != nil {
			return nil, fmt.Errorf("image for %s: %w", img.Arch, err)
		}
		d.RepoTags = []string{name}
		manifests, docker = append(manifests, m), append(docker, d)
	}
	if len(manifests) == 0 {
		return nil, errors.New("no image to archive")
	}
	top := manifests[0]
	if len(manifests) > 1 {
		top = a.json(typeIndex, index{2, typeIndex, manifests})
	}
	// containerd takes the whole name from its own annotation; the specification's is the tag.
	top.Annotations = map[string]string{"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag}
	files := []File{
		{Name: "oci-layout", Mode: 0o644, Body: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{Name: "index.json", Mode: 0o644, Body: encode(index{2, typeIndex, []descriptor{top}})},
	}
	if len(docker) == 1 {
		files = append(files, File{Name: "manifest.json", Mode: 0o644, Body: encode(docker)})
	}
	return layer(append(files, a.blobs...))
}

// An archive collects blobs, each once.
type archive struct{ blobs []File }

const blobDir = "blobs/sha256/"

// image adds the blobs of an image and returns the descriptor of its manifest.
func (a *archive) image(img Image) (descriptor, dockerImage, error) {
	plain, err := layer(img.Files)
	if err != nil {
		return descriptor{}, dockerImage{}, err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return descriptor{}, dockerImage{}, err
	}
	if _, err := z.Write(plain); err != nil {
		return descriptor{}, dockerImage{}, err
	}
	if err := z.Close(); err != nil {
		return descriptor{}, dockerImage{}, err
	}
	where := platform{img.Arch, "linux"}
	l := a.blob(typeLayer, packed.Bytes())
	c := a.json(typeConfig, config{where, img.Config, rootFS{"layers", []string{digest(plain)}}})
	m := a.json(typeManifest, manifest{2, typeManifest, c, []descriptor{l}})
	m.Platform = &where
	return m, dockerImage{Config: c.file(), Layers: []string{l.file()}}, nil
}

func (a *archive) json(mediaType string, v any) descriptor { return a.blob(mediaType, encode(v)) }

func (a *archive) blob(mediaType string, b []byte) descriptor {
	d := descriptor{MediaType: mediaType, Digest: digest(b), Size: len(b)}
	for _, have := range a.blobs {
		if have.Name == d.file() {
			return d
		}
	}
	a.blobs = append(a.blobs, File{Name: d.file(), Mode: 0o644, Body: b})
	return d
}

func (d descriptor) file() string { return blobDir + strings.TrimPrefix(d.Digest, "sha256:") }

func digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

// encode returns v as JSON; no type here can fail.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// layer returns a tar(1) archive of files, which belong to root and have no time.
func layer(files []File) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := tar.Header{Name: f.Name, Mode: f.Mode, Size: int64(len(f.Body)), Linkname: f.Link}
		switch {
		case f.Link != "":
			h.Typeflag = tar.TypeSymlink
		case strings.HasSuffix(f.Name, "/"):
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(&h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Body); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
