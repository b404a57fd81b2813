package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/image"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
)

// imageCommand writes the image for clusters that cannot pull it.
func imageCommand(version string) *cobra.Command {
	var programs []string
	c := &cobra.Command{
		Use:   "image FILE",
		Short: "Write a container image of weir for a cluster",
		Long: `Write a container image that holds weir and no other file, for weir run --kube
--image. It needs no container engine, registry or network. Nodes that cannot pull
images get it from the file.

The file is an OCI archive; it is also Docker's if it holds one architecture. Equal
programs give equal files.`,
		Example: `  weir image weir.tar
  weir image weir.tar --program arm64=weir-linux-arm64     # for nodes of two architectures
  ssh node1 ctr -n k8s.io images import - < weir.tar`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, as []string) error {
			files, err := parsePrograms(programs)
			if err != nil {
				return err
			}
			return writeImage(as[0], image.Name(version), files)
		},
	}
	c.Flags().StringArrayVar(&programs, "program", nil, "add weir for another architecture, such as arm64: ARCH=FILE")
	return c
}

// kernelArch maps the kernel's names of architectures (uname -m) to Go's, where they differ.
var kernelArch = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}

// parsePrograms returns files, keyed by Go's names of architectures.
func parsePrograms(flags []string) (map[string]string, error) {
	files := map[string]string{}
	for _, f := range flags {
		arch, file, ok := strings.Cut(f, "=")
		if name := kernelArch[arch]; name != "" {
			arch = name
		}
		switch {
		case !ok || arch == "" || file == "":
			return nil, usage("invalid --program %q: want ARCH=FILE, such as arm64=weir-linux-arm64", f)
		case files[arch] != "":
			return nil, usage("--program %s: %s already has the program %s", f, arch, files[arch])
		}
		files[arch] = file
	}
	return files, nil
}

// writeImage writes the image called name to a file, and prints how nodes get it.
func writeImage(file, name string, files map[string]string) error {
	made, err := job.WriteImage(file, name, files)
	if err != nil {
		return err
	}
	fmt.Println(said(lang.T("%s: image %s for %s, %.1f MB", file, name, lang.Join(lang.Texts(made.Platforms), lang.T(" and ")), float64(made.Size)/1e6)))
	sayHowToLoad(os.Stdout, file, name, len(made.Platforms) > 1)
	return nil
}

// sayHowToLoad prints how nodes get the image, and how weir uses it.
func sayHowToLoad(w io.Writer, file, name string, several bool) {
	path := shellWord(file)
	_, tagged, _ := strings.Cut(name, "/")
	remote := "REGISTRY/" + tagged
	node := []string{"ctr -n k8s.io images import " + path, "docker load -i " + path, "podman load -i " + path}
	push := "crane push " + path + " " + remote
	if several { // Docker's own format holds one platform, and crane reads an index only from a directory
		node = slices.Delete(node, 1, 2)
		push = "mkdir weir.oci && tar -xf " + path + " -C weir.oci && crane push weir.oci " + remote
	}
	for _, x := range []struct {
		when     lang.Text
		commands []string
	}{
		{lang.T("Give it to every node:"), node},
		{lang.T("or push it to a registry, and use that name:"), []string{push}},
		{lang.T("Then:"), []string{"weir run --kube --image " + name}},
	} {
		fmt.Fprintf(w, "\n%s\n  %s\n", said(x.when), strings.Join(x.commands, "\n  "))
	}
}

// shellWord quotes a file's name for sh(1) so that no command takes it for an option.
func shellWord(file string) string {
	if strings.HasPrefix(file, "-") {
		file = "." + string(filepath.Separator) + file
	}
	return plan.ShellWord(file)
}
