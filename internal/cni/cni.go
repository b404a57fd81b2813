// Package cni attaches pods to networks with CNI plugins, as a kubelet does. It is a separate
// command because it runs in the namespaces of the host. Only it imports libcni.
//
// It must not know plans or choose addresses: the caller passes them.
package cni

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	types "github.com/containernetworking/cni/pkg/types/100"

	"github.com/weir-bench/weir/internal/facts"
)

// Device is the name of a pod's device.
const Device = "eth0"

// ErrUsage means that the arguments of Main are wrong.
var ErrUsage = errors.New("usage: weir cni add|del CONFLIST POD ADDRESS")

// Main adds POD to the network of the file CONFLIST, or removes it, and prints the result as JSON.
// The pod's network namespace is /run/netns/POD (ip-netns(8)). Main requests ADDRESS from the IPAM
// plugin with the argument IP, which host-local and static honor, and fails if the pod gets another
// one. libcni keeps its state in the directory of CONFLIST.
func Main(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) != 4 || args[0] != "add" && args[0] != "del" {
		return ErrUsage
	}
	verb, file, pod := args[0], args[1], args[2]
	addr, err := netip.ParseAddr(args[3])
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	list, err := libcni.ConfListFromFile(file)
	if err != nil {
		return fmt.Errorf("cni: %w", err)
	}
	dirs := facts.PluginDirs()
	if err := find(list, dirs); err != nil {
		return err
	}
	c := libcni.NewCNIConfigWithCacheDir(dirs, filepath.Join(filepath.Dir(file), "cache"), nil)
	rt := &libcni.RuntimeConf{
		ContainerID: pod,
		NetNS:       filepath.Join("/run/netns", pod),
		IfName:      Device,
		// By default plugins refuse unknown arguments.
		Args: [][2]string{{"IgnoreUnknown", "1"}, {"IP", addr.String()}},
	}
	if verb == "del" {
		if err := c.DelNetworkList(ctx, list, rt); err != nil {
			return fmt.Errorf("cni: remove %s from %s: %w", pod, list.Name, err)
		}
		return nil
	}
	result, err := c.AddNetworkList(ctx, list, rt)
	if err != nil {
		return fmt.Errorf("cni: add %s to %s: %w", pod, list.Name, err)
	}
	got, err := types.NewResultFromResult(result)
	if err != nil {
		return fmt.Errorf("cni: result of %s: %w", list.Name, err)
	}
	var others []string
	for _, ip := range got.IPs {
		if ip.Address.IP.Equal(addr.AsSlice()) {
			return result.PrintTo(stdout)
		}
		others = append(others, ip.Address.String())
	}
	return fmt.Errorf("cni: %s got %v, requested %v; use an IPAM plugin that honors the argument IP (host-local, static)", pod, others, addr)
}

// find returns an error that names every plugin of list that is not in dirs.
func find(list *libcni.NetworkConfigList, dirs []string) error {
	var errs []error
	for _, p := range list.Plugins {
		for _, name := range []string{p.Network.Type, p.Network.IPAM.Type} {
			if name == "" {
				continue
			}
			if _, err := invoke.FindInPath(name, dirs); err != nil {
				errs = append(errs, fmt.Errorf("cni: plugin %s is not in %s: install the package containernetworking-plugins (Debian, Ubuntu), or set CNI_PATH",
					name, strings.Join(dirs, string(os.PathListSeparator))))
			}
		}
	}
	return errors.Join(errs...)
}
