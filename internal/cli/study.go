package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/unit"
)

// defaultStudy is the study of a plain `weir run`.
const defaultStudy = "quick"

// studyFlags change a study, or define one without a file. Their names are its YAML keys.
type studyFlags struct {
	networks, probes, factors []string
	compare                   []string
	precision, pairs, nic     string
	loss                      string
	fast                      bool
	names                     []string
	target                    targetFlags
}

func bind(s *study.Study) *pflag.FlagSet {
	fl, t := pflag.NewFlagSet("study", pflag.ContinueOnError), &s.Topology
	fl.StringVar(&s.Baseline, "baseline", s.Baseline, "network to compare the others with (default: the first)")
	fl.IntVar(&s.Blocks, "blocks", s.Blocks, "passes through all cells; with --precision, in the pilot")
	fl.DurationVar(&s.MaxTime, "max-time", s.MaxTime, "time limit for --precision; its pilot (--blocks) always runs")
	fl.BoolVar(&s.KeepDisturbed, "keep-disturbed", s.KeepDisturbed, "count trials that programs outside the run disturbed like all others, and measure no block again")
	fl.BoolVar(&s.Profile, "profile", s.Profile, "add trials that sample which kernel functions use the CPUs, and report the extra time per packet by layer (needs root, or over SSH sudo without a password)")
	fl.BoolVar(&s.Swap, "swap", s.Swap, "swap client and server in half of the blocks (default with --ssh and --kube; --swap=false measures one direction)")
	fl.BoolVar(&s.OneAtATime, "one-at-a-time", s.OneAtATime, "with --pairs all: measure the pairs of a round one after another, each with the whole machine")
	fl.IntVar(&s.Rounds, "rounds", s.Rounds, "with --pairs all: measure this many random rounds in each block, inside and across zones, instead of all pairs; suits hundreds of hosts")
	fl.IntVar(&s.Episodes, "episodes", s.Episodes, "how many times a run builds its networks; 1: never rebuild (default: about 8 if that costs at most 5 % of the time)")
	fl.DurationVar(&s.Warmup, "warmup", s.Warmup, "uncounted traffic before each measurement")
	fl.DurationVar(&s.Duration, "duration", s.Duration, "length of each measurement")
	fl.Uint64Var(&s.Seed, "seed", s.Seed, "seed of the random order (default: random, and recorded)")
	fl.IntVar(&t.Hosts, "hosts", t.Hosts, "number of hosts in every network")
	fl.IntVar(&t.Pods, "pods", t.Pods, "pods per host")
	fl.IntVar(&t.MTU, "mtu", t.MTU, "MTU of the underlay, bytes")
	fl.StringVar(&t.Link, "link", t.Link, "rate of every host's link, such as 1gbit")
	fl.DurationVar(&t.Distance.Delay, "delay", t.Distance.Delay, "delay of every packet between hosts, each way, such as 500us")
	fl.DurationVar(&t.Distance.Jitter, "jitter", t.Distance.Jitter, "how much the delay of single packets differs, such as 50us for ±50us")
	fl.BoolVar(&t.IPv6, "ipv6", t.IPv6, "IPv6 underlay")
	fl.BoolVar(&t.PodsIPv6, "pods-ipv6", t.PodsIPv6, "IPv6 pods")
	return fl
}

// given sets in s the flags that the user gave to c and that bind has, too.
func given(c *cobra.Command, s *study.Study) {
	bound := bind(s)
	c.Flags().Visit(func(g *pflag.Flag) {
		if bound.Lookup(g.Name) != nil {
			_ = bound.Set(g.Name, g.Value.String()) // parsed before
		}
	})
}

func (f *studyFlags) register(c *cobra.Command) {
	fl := bind(&study.Study{})
	fl.StringArrayVarP(&f.networks, "networks", "n", nil, "networks, baseline first (weir list networks)")
	fl.StringArrayVarP(&f.probes, "probes", "p", nil, "probes (weir list probes)")
	fl.StringArrayVarP(&f.factors, "factor", "f", nil, "factor to vary: KEY=LEVEL,LEVEL… (weir list factors); repeatable")
	fl.StringArrayVar(&f.compare, "compare", nil, "comparison that replaces the study's: KEY=LEVEL divides all other levels by this one, KEY=LEVEL/LEVEL one level by another, as in load=idle or offload=on/off; repeatable")
	fl.StringVar(&f.precision, "precision", "", "target half width of every ratio's interval, such as 2%")
	fl.BoolVar(&f.fast, "fast", false, "run the study's fast form: few blocks, short windows, wide intervals")
	fl.StringVar(&f.pairs, "pairs", "one", "one: the ends that the network names; all: every pair of hosts, in rounds of disjoint pairs measured at once (with --hosts)")
	fl.StringVar(&f.loss, "loss", "", "share of packets between hosts that is lost, each way, such as 0.1%")
	fl.StringVar(&f.nic, "nic", "", "segmentation by the hosts' NICs: full, tso (not in tunnels) or none")
	fl.VisitAll(func(g *pflag.Flag) { f.names = append(f.names, g.Name) })
	c.Flags().AddFlagSet(fl)
	f.target.register(c)
	f.names = append(f.names, f.target.names...)
	_ = c.RegisterFlagCompletionFunc("networks", complete(catalog.Names(catalog.Networks)))
	_ = c.RegisterFlagCompletionFunc("probes", complete(catalog.Names(catalog.Probes)))
	_ = c.RegisterFlagCompletionFunc("factor", completeFactor)
}

// completeFactor completes the name of a condition. Its levels are the user's.
func completeFactor(_ *cobra.Command, _ []string, typed string) (out []string, _ cobra.ShellCompDirective) {
	items, _ := job.Lists["factors"]()
	for _, i := range items {
		if i.Name != strings.ToUpper(i.Name) && strings.HasPrefix(i.Name, typed) { // OPTION stands for those of probes
			out = append(out, i.Name+"=")
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func (f *studyFlags) changed(c *cobra.Command) bool {
	return slices.ContainsFunc(f.names, func(n string) bool { return c.Flags().Changed(n) })
}

func (f *studyFlags) study(c *cobra.Command, as []string) (study.Study, error) {
	s, err := f.base(c, as)
	if err == nil {
		err = f.change(c, &s)
	}
	if err == nil {
		err = f.target.change(c, &s)
	}
	if err == nil {
		err = s.ReadSizes(func(name string) ([]byte, error) { return foreign.ReadFile(name, study.MaxSizes) })
	}
	if err == nil {
		err = s.Validate()
	}
	return s, failure.Usage.Of(err)
}

func (f *studyFlags) base(c *cobra.Command, as []string) (study.Study, error) {
	switch {
	case len(as) == 0 && len(f.networks) == 0 && (c.Flags().Changed("ssh") || f.target.wantsKube()):
		s, err := f.target.defaults()
		if len(f.probes) > 0 {
			s.Name = "custom"
		}
		return s, err
	case len(as) == 0:
		s, err := claim.ShippedStudy(defaultStudy)
		if len(f.networks) > 0 || len(f.probes) > 0 {
			s.Name, s.Question = "custom", "What do these networks cost?"
		}
		return s, err
	case slices.Contains(job.StudyNames(), as[0]):
		return claim.ShippedStudy(as[0])
	}
	b, err := foreign.ReadFile(as[0], strictyaml.MaxSource)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(as[0], "/.") { // it has the form of a name
			return study.Study{}, unknownStudy(as[0])
		}
		return study.Study{}, fmt.Errorf("study %s: %w; weir list studies lists those that weir has", as[0], err)
	}
	return study.Load(b, as[0])
}

func (f *studyFlags) change(c *cobra.Command, s *study.Study) error {
	if f.fast {
		*s = s.Faster()
	}
	if c.Flags().Changed("networks") {
		s.Baseline = ""
	}
	for _, kv := range f.factors {
		k, levels, ok := strings.Cut(kv, "=")
		if !ok || k == "" || levels == "" {
			return fmt.Errorf("invalid --factor %q: want KEY=LEVEL,LEVEL…", kv)
		}
		s.Vary(k, strings.Split(levels, ","))
	}
	given(c, s)
	err := errors.Join(
		set(c, "networks", &s.Networks, f.networks, uses),
		set(c, "probes", &s.Probes, f.probes, uses),
		set(c, "precision", &s.Precision, f.precision, precision),
		set(c, "pairs", &s.AllPairs, f.pairs, study.ParsePairs),
		set(c, "loss", &s.Topology.Distance.Loss, f.loss, share),
		set(c, "nic", &s.Topology.NIC, f.nic, topo.ParseNIC),
	)
	*s = s.Resolve()
	if c.Flags().Changed("networks") {
		dropped, none := s.FitEvents()
		for _, why := range dropped {
			tell.Note(lang.T("%v; this event is left out", why))
		}
		err = errors.Join(err, none)
	}
	return errors.Join(err, f.comparisons(c, s))
}

// comparisons sets the study's comparisons. Those of the study file follow the other flags: -n and
// --baseline choose the network that divides, and a comparison of levels that the study no longer has
// is left out, with a note.
func (f *studyFlags) comparisons(c *cobra.Command, s *study.Study) error {
	if c.Flags().Changed("compare") {
		s.Compare = nil
		for _, src := range f.compare {
			one, err := s.ParseContrast(src)
			if err != nil {
				return fmt.Errorf("--compare: %w", err)
			}
			s.Compare = append(s.Compare, one)
		}
		return nil
	}
	s.CompareLevels(f.varied())
	if c.Flags().Changed("networks") || c.Flags().Changed("baseline") {
		*s = s.Against(s.Baseline, c.Flags().Changed("baseline"))
	}
	for _, err := range s.FitCompare() {
		tell.Note(lang.T("%v; this comparison is left out", err))
	}
	return nil
}

// varied are the factors of --factor, in their order.
func (f *studyFlags) varied() (out []string) {
	for _, kv := range f.factors {
		k, _, _ := strings.Cut(kv, "=")
		out = append(out, k)
	}
	return out
}

// precision refuses 0, which would mean no target.
func precision(s string) (float64, error) {
	v, err := share(s)
	if err == nil && v == 0 {
		err = fmt.Errorf("invalid precision %s: want %g %% or more, or leave it out", s, 100*study.MinPrecision)
	}
	return v, err
}

// errNoShare is the error for a flag's text that is not a share.
var errNoShare = errors.New("want a share, such as 2% or 0.02")

// share reads a share. Its error says what the flag takes.
func share(s string) (float64, error) {
	v, err := unit.ParsePercent(s)
	if err != nil && !strings.ContainsAny(s, "0123456789") {
		err = errNoShare
	}
	return v, err
}

func set[T, V any](c *cobra.Command, flag string, to *T, value V, parse func(V) (T, error)) (err error) {
	if c.Flags().Changed(flag) {
		*to, err = parse(value)
		err = ofFlag(flag, value, err)
	}
	return err
}

// ofFlag adds to an error the flag that it is about, and the flag's value if the error does not contain it.
func ofFlag(flag string, value any, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNoShare):
		return fmt.Errorf("--%s %v: %w", flag, value, err)
	}
	return fmt.Errorf("--%s: %w", flag, err)
}

// uses parses names, or mappings as in a study: {use: vxlan-overlay, vni: 7}.
func uses(list []string) (us []study.Use, err error) {
	for _, one := range splitList(strings.Join(list, ",")) {
		u, err := study.ParseUse(one)
		if err != nil {
			return nil, err
		}
		us = append(us, u)
	}
	return us, nil
}

// splitList splits at commas outside braces and brackets.
func splitList(s string) []string {
	var out []string
	depth, start := 0, 0
	for i, c := range s {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				out, start = append(out, s[start:i]), i+1
			}
		}
	}
	return append(out, s[start:])
}
