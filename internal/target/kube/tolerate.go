package kube

import (
	"slices"
	"strings"
)

// tolerating returns what pods need on nodes with these taints.
func tolerating(taints []taint) (all []toleration) {
	for _, x := range taints {
		tol := toleration{x.Key, "Equal", x.Value, x.Effect}
		if x.Value == "" {
			tol.Operator = "Exists"
		}
		if !slices.Contains(all, tol) {
			all = append(all, tol)
		}
	}
	return all
}

// tolerations returns those that the user asks for: KEY[=VALUE][:EFFECT], as kubectl taint writes taints.
func (t *Target) tolerations() (all []toleration) {
	for _, s := range t.Tolerations {
		what, effect, _ := strings.Cut(s, ":")
		key, value, has := strings.Cut(what, "=")
		tol := toleration{Key: key, Operator: "Exists", Effect: effect}
		if has {
			tol.Operator, tol.Value = "Equal", value
		}
		all = append(all, tol)
	}
	return all
}

// covers reports whether pods with the toleration can run despite a taint (core/v1, ToleratesTaint).
func (tol toleration) covers(t taint) bool {
	return tol.Key == t.Key && (tol.Effect == "" || tol.Effect == t.Effect) && (tol.Operator == "Exists" || tol.Value == t.Value)
}
