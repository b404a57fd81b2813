package cli

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/strictyaml"
)

// An item is one line of `weir list`.
type item struct {
	Name    string      `json:"name"`
	About   string      `json:"about"`
	Options []lang.Text `json:"options,omitempty"` // of a study: how long it takes
	Unit    string      `json:"unit,omitempty"`    // of the first value of a probe
	// In lists the kinds of targets that have a network.
	In []network.Where `json:"in,omitempty"`

	Properties  *catalog.Properties `json:"properties,omitempty"` // of a network
	Performance []performance       `json:"performance,omitempty"`
}

// lists maps the arguments of `weir list`.
var lists = map[string]func() ([]item, error){
	"networks": func() ([]item, error) {
		var is []item
		for _, n := range catalog.Names(catalog.Networks) {
			e := catalog.Networks[n]
			is = append(is, item{Name: n, About: e.About, Options: texts(strictyaml.Keys(e.New())), In: e.Where(), Properties: &e.Properties})
		}
		return is, nil
	},
	"probes": func() ([]item, error) {
		var is []item
		for _, n := range catalog.Names(catalog.Probes) {
			p := catalog.Probes[n]()
			is = append(is, item{Name: n, About: p.Info().About, Options: texts(strictyaml.Keys(p)), Unit: p.Info().Unit})
		}
		return is, nil
	},
	"factors": func() ([]item, error) {
		var is []item
		for _, n := range condition.Names() {
			is = append(is, item{Name: n, About: condition.About(n)})
		}
		return append(is, item{Name: "OPTION", About: "an option of the study's probes (weir list probes)"}), nil
	},
	"studies": listStudies,
	"claims": func() ([]item, error) {
		cs, err := claim.Shipped()
		var is []item
		for _, c := range cs {
			is = append(is, item{Name: c.ID, About: c.Text})
		}
		return is, err
	},
}

func listCommand() *cobra.Command {
	var asJSON, properties bool
	var from string
	names := catalog.Names(lists)
	c := &cobra.Command{
		Use:               "list networks|probes|factors|studies|claims",
		Short:             "List the networks, probes, factors, studies and claims",
		Args:              args(cobra.ExactArgs(1)),
		ValidArgsFunction: complete(names),
		RunE: func(_ *cobra.Command, as []string) error {
			list := lists[as[0]]
			if list == nil {
				return usage("cannot list %q; use one of %s", as[0], strings.Join(names, ", "))
			}
			if properties && as[0] != "networks" {
				return usage("--properties lists networks only, not %s", as[0])
			}
			if from != "" && !properties {
				return usage("--from adds the ratios of a run to --properties; add that, or use weir report %s", from)
			}
			items, err := list()
			if err != nil {
				return err
			}
			if from != "" {
				if items, err = measured(items, from); err != nil {
					return err
				}
			}
			if asJSON {
				return printJSON(os.Stdout, items)
			}
			if properties {
				return printProperties(os.Stdout, items)
			}
			var rows [][]lang.Text
			for _, i := range items {
				opts := lang.Text("")
				if len(i.Options) > 0 {
					opts = " [" + lang.Join(i.Options, " ") + "]"
				}
				rows = append(rows, []lang.Text{lang.Text(i.Name), lang.Stored(i.About) + opts + i.with()})
			}
			return printColumns(os.Stdout, rows)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print machine-readable output")
	c.Flags().BoolVar(&properties, "properties", false, "compare how networks connect, address and isolate pods, how these find services, and how others reach them")
	c.Flags().StringVar(&from, "from", "", "with --properties: compare the networks of this run, and add what it measured")
	return c
}

// with names the flags of the targets, other than the lab, that have a network.
func (i item) with() lang.Text {
	var flags []string
	for _, w := range i.In {
		if w != network.InLab {
			flags = append(flags, "--"+string(w))
		}
	}
	switch {
	case flags == nil:
		return ""
	case slices.Contains(i.In, network.InLab):
		return lang.T(" (also with %s)", strings.Join(flags, ", "))
	}
	return lang.T(" (with %s)", strings.Join(flags, ", "))
}

func listStudies() ([]item, error) {
	var is []item
	for _, n := range studyNames() {
		s, err := shippedStudy(n)
		if err != nil {
			return nil, err
		}
		is = append(is, item{Name: n, About: s.Question, Options: []lang.Text{
			lang.T("%d blocks of %v, %s; with --fast %d of %v, %s", s.Blocks, s.Duration, about(catalog.Estimate(s)),
				s.Fast.Blocks, s.Fast.Duration, about(catalog.Estimate(s.Faster())))}})
	}
	return is, nil
}

// about rounds a duration for display.
func about(d time.Duration) lang.Text {
	if d < 90*time.Second {
		return lang.T("about %.0f s", math.Ceil(d.Seconds()/10)*10)
	}
	return lang.T("about %.0f min", d.Minutes())
}

func texts(ss []string) (out []lang.Text) {
	for _, s := range ss {
		out = append(out, lang.Text(s))
	}
	return out
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
