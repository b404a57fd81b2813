// Command weirkube is every program of Kubernetes that a cluster for tests needs. It acts as the
// program under whose name it is started, so one build and one file replace six.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var programs = []struct {
	name    string
	command func() *cobra.Command
}{
	{"kube-apiserver", apiserver.NewAPIServerCommand},
	{"kube-controller-manager", manager.NewControllerManagerCommand},
	{"kube-scheduler", func() *cobra.Command { return scheduler.NewSchedulerCommand() }},
	{"kube-proxy", proxy.NewProxyCommand},
	{"kubelet", kubelet.NewKubeletCommand},
	{"kubectl", kubectl.NewDefaultKubectlCommand},
}

func main() {
	called := filepath.Base(os.Args[0])
	var names []string
	for _, p := range programs {
		switch {
		case p.name != called:
			names = append(names, p.name)
		case called == "kubectl": // it words its errors itself
			util.CheckErr(cli.RunNoErrOutput(p.command()))
			return
		default:
			os.Exit(cli.Run(p.command()))
		}
	}
	fmt.Fprintf(os.Stderr, "%s: unknown program; start this file through a link called %s\n", called, strings.Join(names, ", "))
	os.Exit(2)
}
