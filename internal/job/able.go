package job

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/target/vm"
)

// Able says what can run in a lab on this machine. It decides as a run does when it skips trials: whether the programs
// of a network or a probe are found, whether this process may do what its services do, and whether the kernel has what
// its steps need. It does not know what only building shows, such as a setting that the kernel refuses.
type Able struct {
	Networks, Probes map[string]string // why each cannot run, a line for each thing that is missing; "" can
}

// able judges networks by features of the kernel.
func able(features []lab.Feature) (a Able, _ error) {
	a = Able{map[string]string{}, ProbesUnable()}
	for _, name := range catalog.In(network.InLab) {
		p, err := catalog.Networks[name].Plan()
		if err != nil {
			return a, fmt.Errorf("%s: %w", name, err)
		}
		var tools []facts.ToolInfo
		for _, program := range p.Programs() {
			tools = append(tools, facts.Lookup(program))
		}
		a.Networks[name] = why(missingTool(tools), lab.Lacks(features, p), noGuest(p))
	}
	return a, nil
}

// ProbesUnable says why probes cannot run on this machine; "" can.
func ProbesUnable() map[string]string {
	unable := map[string]string{}
	for _, name := range catalog.Names(catalog.Probes) {
		unable[name] = why(missingTool(catalog.Probes[name]().Info().Tools))
	}
	return unable
}

// why returns the first reason in brief, with a line for each thing that is missing.
func why(errs ...error) string {
	for _, err := range errs {
		if err != nil {
			return lab.Briefly(err)
		}
	}
	return ""
}

// missingTool is the error of the programs that are not there.
func missingTool(tools []facts.ToolInfo) error {
	var errs []error
	for _, t := range tools {
		errs = append(errs, t.Missing())
	}
	return errors.Join(errs...)
}

// noGuest is why a plan with guests cannot have them.
func noGuest(p plan.Plan) error {
	for _, s := range p.Steps {
		if s.Guest == nil {
			continue
		}
		for _, c := range vm.Checks() {
			if !c.OK && c.Name != "guest: KVM" && c.Name != "guest: modprobe" { // a guest is slower without the first, and plainer without the second
				return fmt.Errorf("%s: %s", c.Name, c.Detail)
			}
		}
		return nil
	}
	return nil
}

// HereAble returns what can run in the lab that this process has entered.
func HereAble(ctx context.Context) (Able, error) {
	features, err := lab.Supports(ctx)
	if err != nil {
		return Able{}, err
	}
	return able(features)
}

// unableAll is Able where the process cannot enter a lab.
func unableAll(forbidden error) Able {
	a := Able{map[string]string{}, ProbesUnable()}
	for _, name := range catalog.In(network.InLab) {
		a.Networks[name] = forbidden.Error()
	}
	return a
}

// diagnoses are the first lines of the doctor: how many networks and probes can run, and what would enable others.
func (a Able) diagnoses() (ds []Diagnosis) {
	for _, of := range []struct {
		noun string
		all  map[string]string
	}{{"networks", a.Networks}, {"probes", a.Probes}} {
		can, byWhy, whys := 0, map[string][]string{}, []string(nil)
		for _, name := range catalog.Names(of.all) {
			w := of.all[name]
			if w == "" {
				can++
				continue
			}
			if byWhy[w] == nil {
				whys = append(whys, w)
			}
			byWhy[w] = append(byWhy[w], name)
		}
		ds = append(ds, Diagnosis{Check: facts.Check{Name: of.noun, OK: true, Detail: fmt.Sprintf("%d of %d can run here", can, len(of.all))}})
		for _, w := range whys {
			ds = append(ds, Diagnosis{Check: facts.Check{Name: of.noun, Detail: "to enable " + strings.Join(byWhy[w], ", ") + ":", Fix: w}})
		}
	}
	return ds
}
