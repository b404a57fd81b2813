package record

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Format 1 glued what a value is about to its name, such as cpu.steal.node1 or thread.h1.ovs-vswitchd, and
// stored notes as English sentences. This file is the only one that takes such texts apart.

// resultV1 is a line of format 1.
type resultV1 struct {
	Result
	Warnings []string `json:"warnings"`
}

// current turns a result of format 1 into one of today. It clones what results share.
func (r *resultV1) current() *Result {
	out := r.Result
	out.Format = Format
	hosts := hostsV1(r.Values)
	for i := range out.Values {
		v := &out.Values[i]
		if k := keyV1(string(v.Name), hosts); k.Name != v.Name {
			v.Name, v.About = k.Name, k.about()
		}
	}
	out.Observed = observedV1(r.Observed)
	for _, s := range r.Warnings {
		out.Notes = append(out.Notes, noteV1(s))
	}
	return &out
}

// hostsV1 returns the machines whose names end values: each has a number of CPUs.
func hostsV1(values []Value) (hosts []string) {
	for _, v := range values {
		if h, ok := strings.CutPrefix(string(v.Name), "cpus."); ok {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// perHostV1 lists the quantities whose names could end with that of a machine.
var perHostV1 = []Quantity{CPUSteal, CPUFrequency, CPUs, CoreToCoreAfter, CoreToCore, OthersUser, OthersSystem}

// perEndV1 lists those whose names could end with an end's.
var perEndV1 = []Quantity{CPUOwn, CPUWait, CPUTool, StressTaken}

func keyV1(name string, hosts []string) Key {
	if _, known := Quantity(name).Defined(); known {
		return Quantity(name).Whole()
	}
	if rest, ok := strings.CutPrefix(name, "thread."); ok {
		place, task, _ := strings.Cut(rest, ".")
		for _, h := range hosts { // whose names can have dots
			if after, ok := strings.CutPrefix(rest, h+"."); ok && len(h) > len(place) {
				place, task = h, after
			}
		}
		if place == "machine" {
			place = ""
		}
		program, thread := programV1(task)
		return Key{CPUThread, About{Place: place, Program: program, Thread: thread}}
	}
	for _, q := range perHostV1 {
		if h, ok := strings.CutPrefix(name, string(q)+"."); ok && slices.Contains(hosts, h) {
			return q.On(h)
		}
	}
	for _, q := range perEndV1 {
		if end, ok := strings.CutPrefix(name, string(q)+"."); ok && slices.Contains([]string{"client", "server", "sender", "receiver"}, end) {
			return q.At(end)
		}
	}
	if rest, ok := strings.CutPrefix(name, "cpu."); ok {
		program, thread := programV1(rest)
		return Key{CPUProgram, About{Program: program, Thread: thread}}
	}
	return Quantity(name).Whole()
}

// programV1 splits PROGRAM/THREAD, and leaves out the arguments of weir, which could be a user's paths.
func programV1(task string) (program, thread string) {
	program, thread, _ = strings.Cut(task, "/")
	if m := weirV1.FindString(task); m != "" {
		return m, ""
	}
	return program, thread
}

var weirV1 = regexp.MustCompile(`^weir(-engine-(agent|serve|hog|run)|-(relay|redirect)-[a-z0-9-]+|-[a-z]+)`)

// observedV1 gives numbers and lists that were phrases their types.
func observedV1(old Observed) Observed {
	o := maps.Clone(old)
	move := func(key string, put func(s string)) {
		if s, ok := o[key]; ok {
			delete(o, key)
			put(s)
		}
	}
	number := func(s string) int { n, _ := strconv.Atoi(digitsV1.FindString(s)); return n }
	list := func(s string) (cpus []int) {
		for _, f := range strings.Fields(s) {
			cpus = append(cpus, number(f))
		}
		return cpus
	}
	move("again", func(s string) { Repeats.Put(o, number(s)) })
	move("cost", func(s string) { AtOnce.Put(o, number(s)) })
	move("cpu.own", func(string) { OwnPartial.Put(o, true) })
	move("load.share", func(s string) { LoadShare.Put(o, strings.TrimPrefix(s, "of ")) })
	move("path.loss", func(s string) {
		p, _ := strconv.ParseFloat(strings.TrimRight(s, " %"), 64)
		PathLoss.Put(o, p/100)
	})
	move("cpus", func(s string) {
		if m := cpusV1.FindStringSubmatch(s); m != nil {
			ClientCPUs.Put(o, list(m[1]))
			ServerCPUs.Put(o, list(m[2]))
		}
	})
	move("warmup", func(s string) {
		o[Warmup.key] = "0s"
		if strings.HasPrefix(s, "sockperf") {
			o[Warmup.key] = "400ms"
		}
	})
	move("rtt", func(string) { RTTDoubled.Put(o, true) })
	for _, f := range []Fact[[]string]{RPS, RxQueues} {
		move(f.key, func(s string) { f.Put(o, strings.Split(s, ", ")) })
	}
	for key, of := range map[string][2]Fact[string]{"path.client": {ClientHost, ClientDevice}, "path.server": {ServerHost, ServerDevice}} {
		move(key, func(s string) {
			i := strings.LastIndexByte(s, ' ')
			of[0].Put(o, s[:max(i, 0)])
			of[1].Put(o, s[i+1:])
		})
	}
	return o
}

var (
	digitsV1 = regexp.MustCompile(`\d+`)
	cpusV1   = regexp.MustCompile(`^client \[(.*)\], server \[(.*)\]$`)
)

// patternsV1 find the arguments of the sentences that format 1 stored.
var patternsV1 = sync.OnceValue(func() map[NoteCode]*regexp.Regexp {
	all := map[NoteCode]*regexp.Regexp{}
	for code, format := range noteFormats {
		parts := strings.Split(format, "%s")
		for i, p := range parts {
			parts[i] = regexp.QuoteMeta(strings.ReplaceAll(p, "%%", "%"))
		}
		all[code] = regexp.MustCompile("^" + strings.Join(parts, "(.+?)") + "$")
	}
	delete(all, NoteText)
	return all
})

// noteV1 finds the note that a sentence was, and keeps other sentences as they are.
func noteV1(s string) Note {
	s = strings.Replace(s, "its length is the value silence", "its length is recorded as silence", 1)
	for _, code := range slices.Sorted(maps.Keys(patternsV1())) {
		if m := patternsV1()[code].FindStringSubmatch(s); m != nil {
			return Note{Code: code, Args: m[1:]}
		}
	}
	return NoteText.With(s)
}
