package kube

import (
	"fmt"
	"slices"
)

// What weir reads of objects of the cluster. Everything else in them is ignored.

// A meta is the metadata of an object, read or made.
type meta struct {
	Name      string            `json:"name,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Owners    []owner           `json:"ownerReferences,omitempty"`
	UID       string            `json:"uid,omitempty"`
	Created   string            `json:"creationTimestamp,omitempty"`
	Deleted   string            `json:"deletionTimestamp,omitempty"`
}

type owner struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

// A stored object is the cluster's answer to create.
type stored struct {
	Kind     string `json:"kind"`
	Metadata meta   `json:"metadata"`
	Spec     struct {
		ClusterIP string `json:"clusterIP"` // of a Service
		Ports     []port `json:"ports"`
	} `json:"spec"`
	Status struct {
		Allowed bool `json:"allowed"` // of a SelfSubjectAccessReview
	} `json:"status"`
}

type list[T any] struct {
	Items []T `json:"items"`
}

// missing reports whether what was decoded is no list, which has items, or none.
func (l list[T]) missing() bool { return l.Items == nil }

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type namespaceObject struct {
	Metadata meta `json:"metadata"`
	Status   struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

// A limitRange bounds what containers of a namespace can use.
type limitRange struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Limits []struct {
			Type    string `json:"type"`
			Default cpu    `json:"default"`
			Max     cpu    `json:"max"`
		} `json:"limits"`
	} `json:"spec"`
}

type cpu struct {
	CPU string `json:"cpu"` // a quantity, such as 200m
}

type node struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Unschedulable bool    `json:"unschedulable"`
		Taints        []taint `json:"taints"`
	} `json:"spec"`
	Status struct {
		Conditions []condition `json:"conditions"`
		Addresses  []struct {
			Type    string `json:"type"`
			Address string `json:"address"`
		} `json:"addresses"`
		Info struct {
			Kernel  string `json:"kernelVersion"`
			Runtime string `json:"containerRuntimeVersion"`
			OS      string `json:"operatingSystem"`
		} `json:"nodeInfo"`
	} `json:"status"`
}

type taint struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Effect string `json:"effect"`
}

func (t taint) String() string {
	s := t.Key
	if t.Value != "" {
		s += "=" + t.Value
	}
	return s + ":" + t.Effect
}

// over reports whether a pod no longer runs, or soon will not.
func (p pod) over() bool {
	return p.Metadata.Deleted != "" || p.Status.Phase == "Failed" || p.Status.Phase == "Succeeded"
}

type pod struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Node string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase      string      `json:"phase"`
		Reason     string      `json:"reason"`
		Message    string      `json:"message"`
		Conditions []condition `json:"conditions"`
		IP         string      `json:"podIP"`
		IPs        []struct {
			IP string `json:"ip"`
		} `json:"podIPs"`
		HostIP     string           `json:"hostIP"`
		Containers []containerState `json:"containerStatuses"`
	} `json:"status"`
}

type containerState struct {
	State struct {
		Running *struct{} `json:"running"`
		Waiting *struct {
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"waiting"`
		Terminated *terminated `json:"terminated"`
	} `json:"state"`
	Last struct {
		Terminated *terminated `json:"terminated"`
	} `json:"lastState"` // before it was started again
}

type terminated struct {
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	ExitCode int    `json:"exitCode"`
	Signal   int    `json:"signal"`
}

// how returns how a container ended.
func (e terminated) how() string {
	if e.Signal != 0 {
		return fmt.Sprintf("%s, signal %d", oneLine(e.Reason), e.Signal)
	}
	return fmt.Sprintf("%s, exit status %d", oneLine(e.Reason), e.ExitCode)
}

type jobObject struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Template struct {
			Spec struct {
				Volumes []volume `json:"volumes"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		Ready     int `json:"ready"` // pods
		Failed    int `json:"failed"`
		Uncounted struct {
			Failed []string `json:"failed"`
		} `json:"uncountedTerminatedPods"` // on their way into Failed
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

// claimed reports whether the pod of a Job has a claim.
func (j jobObject) claimed() bool {
	return slices.ContainsFunc(j.Spec.Template.Spec.Volumes, func(v volume) bool { return v.Claim != nil })
}

// end returns why a Job failed, in parentheses, if it did for another reason than its pods.
func (j jobObject) end() string {
	for _, kind := range []string{"FailureTarget", "Failed"} {
		if c := find(j.Status.Conditions, kind); c.Status == "True" && c.Reason != "BackoffLimitExceeded" {
			return bounded(fmt.Sprintf(" (%s: %s)", oneLine(c.Reason), oneLine(c.Message)))
		}
	}
	return ""
}

// finished reports whether a Job makes no more pods.
func (j jobObject) finished() bool {
	return find(j.Status.Conditions, "Failed").Status == "True" || find(j.Status.Conditions, "Complete").Status == "True"
}

type event struct {
	Type    string `json:"type"` // Normal or Warning
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Last    string `json:"lastTimestamp"`
}

// find returns the condition of a type, or a zero one.
func find(cs []condition, kind string) condition {
	for _, c := range cs {
		if c.Type == kind {
			return c
		}
	}
	return condition{}
}
