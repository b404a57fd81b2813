package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/target/kube/fakekube"
)

// maxLied is the memory that a weir may use whatever kubectl says, bytes.
const maxLied = 768 << 20

// lies are what a kubectl prints in place of an answer, as scripts. In the real cluster that it stands for, most are
// a proxy's page or another program of this name.
var lies = map[string]string{
	"nothing":            "",
	"no JSON":            `printf '<html>\033[31m\033]0;x\007 sign in</html>'`,
	"endless":            "exec yes",
	"endless JSON":       `printf '{"items":['; exec yes '{},'`,
	"empty objects":      `printf '{"items":[{}'; yes ',{}' | tr -d '\n' | head -c 50000000; printf ']}'`,
	"conditions":         `printf '{"items":[{"status":{"conditions":[{}'; yes ',{}' | tr -d '\n' | head -c 11000000; printf ']}}]}'`,
	"labels":             `printf '{"items":[{"metadata":{"labels":{'; seq -f '"%.0f":"",' 400000 | tr -d '\n'; printf '"x":""}}}]}'`,
	"depth":              `yes '[' | tr -d '\n' | head -c 1000000`,
	"a name of 20 MB":    `printf '{"items":[{"metadata":{"name":"'; yes a | tr -d '\n' | head -c 20000000; printf '"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}]}'`,
	"a version of 20 MB": `printf '{"serverVersion":{"gitVersion":"\\u001b[2J'; yes a | tr -d '\n' | head -c 20000000; printf '"}}'`,
	"null":               "echo null",
	"a list":             "echo '[]'",
	"wrong types":        `echo '{"items":{"a":1},"metadata":[],"status":3,"kind":{}}'`,
	"nulls":              `echo '{"items":[null,null],"metadata":null,"status":null,"kind":null}'`,
	"several":            `echo '{}{}{"kind":"List","items":[{},null]}'`,
	"no object":          `echo '{"kind":"List","items":[]}'`,
	"a failure":          `printf 'Error from server (Forbidden): \033[31mno\n' >&2; exit 1`,
	"an endless failure": "yes >&2 & yes >&2 & sleep .2; exit 1",
	"a signal":           "kill -9 $$",
	"half":               `echo '{"items":[{"metadata":{"name":"no'`,
	"a wall of text":     "yes 'Sign in, and read the terms of use.' | head -c 1000000 >&2; exit 3",
	"another namespace":  `echo '{"kind":"List","items":[{"kind":"Pod","metadata":{"name":"p","namespace":"elsewhere"}}]}'`,
}

// objects are the lies whose form an answer has: what is wrong with them is in the cluster's words, or weir's.
var objects = []string{"conditions", "labels", "a name of 20 MB", "nulls", "no object", "another namespace"}

// cause matches what an error says about a lie: what kubectl printed, and what to do.
func cause(name string) *regexp.Regexp {
	switch {
	case strings.Contains(name, "failure") || name == "a signal" || name == "a wall of text":
		return regexp.MustCompile(`kubectl.*; \w|(?s)kubectl.*→ `)
	case slices.Contains(objects, name):
		return regexp.MustCompile(`[;:] \w|(?s)node.*→ `)
	}
	return regexp.MustCompile(`kubectl .* printed .*; it (begins with "|printed nothing)(.*; see what answers: kubectl|(?s).*→ see what answers: kubectl)`)
}

// judge fails unless weir has ended in an orderly way, in bounded memory, with the cause, and printed nothing that a terminal
// obeys.
func (p *process) judge(t *testing.T, cause *regexp.Regexp) {
	t.Helper()
	status := p.statusWithin(t, 2*patience)
	if !slices.Contains([]int{0, int(failure.Check), int(failure.Usage), int(failure.Environment)}, status) {
		t.Errorf("status %d", status)
	}
	said := p.stdout.String() + p.stderr.String()
	if strings.ContainsAny(said, "\x1b\x07\x00") || strings.Contains(said, "goroutine ") || len(said) > 10_000 {
		t.Errorf("it printed %d bytes: %.2000q", len(said), said)
	}
	if status != 0 && !cause.MatchString(said) {
		t.Errorf("it does not say what kubectl printed, and what to do: %.1000s", said)
	}
	if used, ok := p.ProcessState.SysUsage().(*syscall.Rusage); !ok || used.Maxrss<<10 > maxLied {
		t.Errorf("it used %d MB", used.Maxrss>>10)
	}
}

// honest begins a kubectl that tells its version, and then something else.
const honest = `case " $* " in *" version "*) echo '{"clientVersion":{"gitVersion":"v1.32.0"},"serverVersion":{"gitVersion":"v1.33.13"}}'; exit;; *" current-context "*) echo a; exit;; esac
`

// kubed are the commands with --kube.
var kubed = map[string]string{
	"doctor": "doctor --kube",
	"run":    "run --kube -n pod -p tcp-rr --blocks 1 --duration 10ms --warmup 0s -o {tmp}/out",
	"nodes":  "run --kube --nodes n1,n2 -n host -p tcp-rr --blocks 1 --duration 10ms --warmup 0s -o {tmp}/out",
	"attach": "run --kube --attach weir-1 -o {tmp}/out",
	"plan":   "plan --kube -n pod",
	"trace":  "trace --kube -n pod",
	"bisect": "bisect nodes pool=a pool=b -n pod -p tcp-rr -o {tmp}/out",
}

// Whatever a kubectl says, weir ends soon, in bounded memory, and says what kubectl printed and what to do.
func TestLyingKubectl(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	tell := func(name, what, begin string) {
		t.Run(what+"/"+fmt.Sprintf("%s, honest %t", name, begin != ""), func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			program(t, filepath.Join(tmp, "kubectl"), begin+lies[name]+"\n")
			p := start(t, []string{"PATH=" + tmp + ":" + os.Getenv("PATH")}, strings.Fields(strings.ReplaceAll(kubed[what], "{tmp}", tmp))...)
			p.judge(t, cause(name))
		})
	}
	for name := range lies {
		for what := range kubed {
			if also := []string{"plan", "trace", "bisect"}; !slices.Contains(also, what) || slices.Contains([]string{"nothing", "half", "a wall of text", "endless JSON", "no object"}, name) {
				tell(name, what, honest)
			}
		}
		if !slices.Contains(objects, name) {
			tell(name, "doctor", "") // lies also about its version
		}
	}
}

// A kubectl that never answers costs a minute, and weir says so.
func TestHangingKubectl(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for what, args := range kubed {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			program(t, filepath.Join(tmp, "kubectl"), honest+strings.ReplaceAll(stuck, "{tmp}", tmp))
			p := start(t, []string{"PATH=" + tmp + ":" + os.Getenv("PATH")}, strings.Fields(strings.ReplaceAll(args, "{tmp}", tmp))...)
			p.judge(t, regexp.MustCompile(`kubectl get: no answer within 1m0s(; |(?s).*→ )check that the cluster answers: kubectl cluster-info`))
		})
	}
}

// A kubectl that tells the truth but for one call.
func TestKubectlLiesOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	// A list without the pods that it waits for is no lie: it waits for them for three minutes.
	calls := []string{"get nodes", "get namespace", "create -f - -o json --dry-run", "create", "get pods", "attach", "get daemonsets", "get configmap", "delete", "version", "config"}
	for _, call := range calls {
		for _, name := range []string{"no JSON", "endless JSON", "several", "a failure", "another namespace"} {
			t.Run(call+"/"+name, func(t *testing.T) {
				c := fakekube.Start(t)
				c.Set(t, func(s *fakekube.State) { s.Namespaces["default"] = map[string]string{} })
				real, err := exec.LookPath("kubectl")
				if err != nil {
					t.Fatal(err)
				}
				tmp := t.TempDir()
				program(t, filepath.Join(tmp, "kubectl"), fmt.Sprintf("case \" $* \" in *\" %s\"*) %s\nexit;; esac\nexec %s \"$@\"\n", call, lies[name], real))
				p := start(t, []string{"PATH=" + tmp + ":" + os.Getenv("PATH")}, "run", "--kube", "-n", "pod", "-p", "tcp-rr", "--blocks", "1", "--duration", "10ms", "--warmup", "0s", "-o", filepath.Join(tmp, "out"))
				p.judge(t, regexp.MustCompile("kubectl|cluster|node|trial"))
			})
		}
	}
}
