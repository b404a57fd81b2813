package plan

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
)

// shellDir is the state directory of a place in the output of Shell.
func shellDir(in string) string { return "/run/weir/" + in }

// shellValues are the values of words in the steps of a place. A value that an Exec
// keeps becomes a shell variable instead; see quote.
func shellValues(in string) map[string]string {
	return map[string]string{"dir": shellDir(in), "cgroup": "weir"}
}

// kept matches a word that stands for a value kept by an earlier step; see Exec.Keep.
var kept = regexp.MustCompile(`^\{[a-z]+\}$`)

// A text is a line for sh(1) that is more than one simple command.
type text string

func (t text) String() string { return string(t) }

// run returns the command that runs argv in the network namespace of in.
func run(in string, env, argv []string) command {
	c := command{"ip", "netns", "exec", in}
	if len(env) > 0 {
		c = append(append(c, "env"), Expand(shellValues(in), env...)...)
	}
	return append(c, Expand(shellValues(in), argv...)...)
}

func (m Move) shell(in string) []fmt.Stringer {
	return []fmt.Stringer{
		command{"ip", "-n", in, "link", "set", m.Dev, "netns", m.To, "name", m.As},
		slices.Concat(command{"ip", "-n", m.To, "link", "set", m.As}, when(m.MTU != 0, "mtu", strconv.Itoa(m.MTU)), command{"up"})}
}

func (e Exec) shell(in string) []fmt.Stringer {
	c := run(in, e.Env, e.Argv)
	if e.Keep == "" {
		return []fmt.Stringer{c}
	}
	return []fmt.Stringer{text(fmt.Sprintf("%s=$(%s)", e.Keep, c))}
}

func (a Adopt) shell(in string) []fmt.Stringer {
	return []fmt.Stringer{
		command{"ip", "netns", "del", a.Pod},
		text(fmt.Sprintf("%s \"$(%s)\"", command{"ip", "netns", "attach", a.Pod}, run(in, nil, a.PID)))}
}

func (f File) shell(in string) []fmt.Stringer {
	name := path.Join(shellDir(in), f.Name)
	content := command{"printf", "%s", Expand(shellValues(in), f.Content)[0]}
	return []fmt.Stringer{
		command{"mkdir", "-p", path.Dir(name)},
		text(fmt.Sprintf("%s > %s", content, quote(name))),
		command{"chmod", strconv.FormatUint(uint64(f.Perm()), 8), name}}
}

// shell starts the service in the background and waits as Ready says. Stopping it
// is left to the reader.
func (s Service) shell(in string) []fmt.Stringer {
	log := quote(path.Join(shellDir(in), s.Name+".log"))
	r, ready := s.Ready, ""
	switch {
	case len(r.Argv) > 0:
		ready = run(in, s.Env, r.Argv).String() + " >/dev/null 2>&1"
	case r.File != "":
		ready = "test -e " + quote(Expand(shellValues(in), r.File)[0])
	default:
		ready = fmt.Sprintf("grep -qF %s %s", quote(r.Line), log)
	}
	return []fmt.Stringer{
		text(fmt.Sprintf("cd %s && %s >%s 2>&1 &", shellDir(in), run(in, s.Env, s.Argv), log)),
		until(ready, r.Seconds())}
}

// shell waits for one line after another; a line listed n times must appear n times.
func (a Await) shell(in string) []fmt.Stringer {
	times := map[string]int{}
	for _, line := range a.Lines {
		times[line]++
	}
	var waits []fmt.Stringer
	for _, line := range slices.Sorted(maps.Keys(times)) {
		count := command{"grep", "-cF", "-e", line}
		waits = append(waits, until(fmt.Sprintf("test $(%s | %s) -ge %d", run(in, nil, a.Argv), count, times[line]), a.Seconds()))
	}
	return waits
}

func until(ready string, seconds int) command {
	return command{"timeout", strconv.Itoa(seconds), "sh", "-c", "until " + ready + "; do sleep 0.1; done"}
}
