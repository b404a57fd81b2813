package fakekube

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// server begins what kubectl prints when the API server refuses.
const server = "Error from server"

// at returns the value below keys, or nil.
func (o Object) at(keys ...string) any {
	var v any = map[string]any(o)
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}

func (o Object) text(keys ...string) string {
	s, _ := o.at(keys...).(string)
	return s
}

func (o Object) matches(selector string) bool {
	for term := range strings.SplitSeq(selector, ",") {
		key, value, _ := strings.Cut(term, "=")
		if o.text("metadata", "labels", key) != value {
			return false
		}
	}
	return true
}

// object returns a copy of v that went through JSON, as all objects in a State have.
func object(v any) (o Object) {
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &o)
	}
	if err != nil {
		panic(err) // it is built here
	}
	return o
}

func (s *State) get(c call) (any, error) {
	what, name := c.words[1], ""
	if len(c.words) > 2 {
		name = c.words[2]
	}
	items := []Object{}
	missing := fmt.Errorf("%s (NotFound): %ss %q not found", server, what, name)
	switch what {
	case "nodes":
		for _, n := range s.Nodes {
			if n.matches(c.flags["-l"]) {
				items = append(items, n)
			}
		}
	case "namespace":
		labels, ok := s.Namespaces[name]
		if !ok {
			return nil, missing
		}
		return Object{"metadata": Object{"name": name, "labels": labels}, "status": Object{"phase": "Active"}}, nil
	case "namespaces":
		for name, labels := range s.Namespaces {
			o := object(Object{"metadata": Object{"name": name, "labels": labels, "creationTimestamp": s.Made[name]}})
			if o.matches(c.flags["-l"]) {
				items = append(items, o)
			}
		}
	case "jobs", "jobs,pods,services,persistentvolumeclaims":
		for _, o := range s.Objects {
			kind := o.text("kind")
			if (what != "jobs" || kind == "Job") && (c.flags["-l"] == "" || o.matches(c.flags["-l"])) && (c.flags["-l"] != "" || o.text("metadata", "namespace") == c.flags["--namespace"]) {
				items = append(items, o)
			}
		}
	case "pods":
		for _, o := range s.Objects {
			if o.text("kind") == "Pod" && o.matches(c.flags["-l"]) && (c.flags["-l"] != "" || o.text("metadata", "namespace") == c.flags["--namespace"]) {
				items = append(items, o)
			}
		}
	case "pod", "job":
		kind := map[string]string{"pod": "Pod", "job": "Job"}[what]
		if o, ok := s.Objects[kind+"/"+name]; ok {
			return o, nil
		}
		return nil, missing
	case "limitranges":
		for _, l := range s.Limits {
			items = append(items, Object{"metadata": Object{"name": "limits"}, "spec": Object{"limits": []any{l}}})
		}
	case "storageclasses":
		items = append(items, Object{"metadata": Object{"name": "slow"}})
		if s.Class != "" {
			items = append(items, Object{"metadata": Object{"name": s.Class, "annotations": Object{"storageclass.kubernetes.io/is-default-class": "true"}}})
		}
	case "events":
		of := strings.TrimPrefix(c.flags["--field-selector"], "involvedObject.name=")
		if e := s.Events[of]; e != "" {
			items = append(items, Object{"type": "Warning", "reason": "FailedCreate", "message": e})
		}
	case "daemonsets":
		for _, image := range s.DaemonSets {
			items = append(items, Object{"spec": Object{"template": Object{"spec": Object{"containers": []Object{{"image": image}}}}}})
		}
	case "configmap":
		if name != "kube-proxy" || s.Proxy == "" {
			return nil, missing
		}
		return Object{"metadata": Object{"name": name}, "data": Object{"config.conf": s.Proxy}}, nil
	default:
		return nil, fmt.Errorf("error: the server doesn't have a resource type %q", what)
	}
	return Object{"kind": "List", "items": items}, nil
}

func (s *State) create(c call) (out []byte, err error) {
	b, err := io.ReadAll(os.Stdin)
	var list struct{ Items []Object }
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	if err != nil {
		return nil, err
	}
	in := c.flags["--namespace"]
	for _, o := range list.Items {
		kind, name := o.text("kind"), o.text("metadata", "name")
		if _, ok := s.Namespaces[in]; in != "" && !ok && kind != "Namespace" {
			return nil, fmt.Errorf(`%s (NotFound): error when creating "STDIN": namespaces %q not found`, server, in)
		}
		switch kind {
		case "Namespace":
			if _, ok := s.Namespaces[name]; ok {
				return nil, fmt.Errorf(`%s (AlreadyExists): error when creating "STDIN": namespaces %q already exists`, server, name)
			}
			labels := map[string]string{}
			for k, v := range object(o.at("metadata", "labels")) {
				labels[k] = v.(string)
			}
			s.Namespaces[name] = labels
		case "SelfSubjectAccessReview":
			o["status"] = Object{"allowed": !slices.Contains(s.Denied, permission(o))}
		case "Pod":
			if enforce := s.Namespaces[in]["pod-security.kubernetes.io/enforce"]; enforce != "" && enforce != "privileged" && o.at("spec", "hostNetwork") == true {
				return nil, fmt.Errorf(`%s (Forbidden): error when creating "STDIN": pods %q is forbidden: violates PodSecurity "%s:latest": host namespaces (hostNetwork=true)`, server, name, enforce)
			}
		case "Job":
			o = s.job(o)
		case "Service":
			if _, ok := s.Objects["Service/"+name]; ok {
				return nil, fmt.Errorf(`%s (AlreadyExists): error when creating "STDIN": services %q already exists`, server, name)
			}
			o = s.service(o)
		case "Secret", "NetworkPolicy", "PersistentVolumeClaim":
			if slices.Contains(s.Denied, "create "+kind) {
				return nil, fmt.Errorf(`%s (Forbidden): error when creating "STDIN": %q is forbidden: exceeded quota`, server, name)
			}
			if c.flags["--dry-run"] != "" {
				break
			}
			o = object(o)
			s.Objects[kind+"/"+name] = o
		}
		b, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
	}
	return out, nil
}

func permission(o Object) string {
	p := object(o.at("spec", "resourceAttributes"))
	s := p.text("verb") + " " + p.text("resource")
	if sub := p.text("subresource"); sub != "" {
		s += "/" + sub
	}
	return s
}

// job stores a Job and its pods.
func (s *State) job(o Object) Object {
	name := o.text("metadata", "name")
	meta := object(o["metadata"])
	meta["uid"] = "uid-of-" + name
	o["metadata"] = meta
	o = object(o)
	s.Objects["Job/"+name] = o
	if s.NoPods {
		return o
	}
	spec := object(o.at("spec", "template", "spec"))
	labels := o.at("spec", "template", "metadata", "labels")
	component := o.text("metadata", "labels", "app.kubernetes.io/component")
	status, ok := s.Status[component]
	if !ok {
		status = Object{"phase": "Running", "podIP": s.IP, "podIPs": []Object{{"ip": s.IP}}, "hostIP": "127.0.0.1",
			"containerStatuses": []Object{{"state": Object{"running": Object{}}}}}
	}
	pod := func(pod string) {
		s.Objects["Pod/"+pod] = object(Object{"kind": "Pod", "spec": spec, "status": status, "metadata": Object{
			"name": pod, "namespace": o.text("metadata", "namespace"), "labels": labels, "ownerReferences": []Object{{"kind": "Job", "name": name}}}})
	}
	if o.text("spec", "completionMode") != "Indexed" {
		pod(name + "-x")
		return o
	}
	n := int(o.at("spec", "completions").(float64))
	for i := range n {
		pod(fmt.Sprintf("%s-%d-x", name, i))
	}
	if !ok {
		o["status"] = map[string]any{"ready": float64(n)}
	}
	return o
}

// service stores a Service and gives it addresses and ports.
func (s *State) service(o Object) Object {
	name := o.text("metadata", "name")
	spec := object(o["spec"])
	spec["clusterIP"] = s.IP
	if spec.text("type") == "NodePort" {
		ports := spec["ports"].([]any)
		for i, p := range ports {
			p := object(p)
			p["nodePort"] = 30000 + p["port"].(float64)
			ports[i] = p
		}
	}
	o["spec"] = spec
	o = object(o)
	s.Objects["Service/"+name] = o
	return o
}

// delete deletes Jobs by name, everything by label, or a namespace, and what belongs to the Jobs.
func (s *State) delete(c call) {
	if c.words[1] == "namespace" {
		delete(s.Namespaces, c.words[2])
		return
	}
	for key, o := range s.Objects {
		owner := ""
		if owners, ok := o.at("metadata", "ownerReferences").([]any); ok && len(owners) > 0 {
			owner = object(owners[0]).text("name")
		}
		selector, byLabel := c.flags["-l"]
		if byLabel && o.matches(selector) || slices.Contains(c.words[2:], owner) || slices.Contains(c.words[2:], o.text("metadata", "name")) {
			delete(s.Objects, key)
		}
	}
}

// label gives a pod a label, as KEY=VALUE, or takes it away, as KEY-.
func (s *State) label(pod, label string) error {
	o, ok := s.Objects["Pod/"+pod]
	if !ok {
		return fmt.Errorf("%s (NotFound): pods %q not found", server, pod)
	}
	labels := o.at("metadata", "labels").(map[string]any)
	if key, value, ok := strings.Cut(label, "="); ok {
		labels[key] = value
	} else {
		delete(labels, strings.TrimSuffix(label, "-"))
	}
	return nil
}

// attach returns the name of a pod and its program.
func (s *State) attach(name string) ([]string, error) {
	o, ok := s.Objects["Pod/"+name]
	if !ok {
		return nil, fmt.Errorf("%s (NotFound): pods %q not found", server, name)
	}
	program := []string{name}
	for _, word := range object(o.at("spec", "containers").([]any)[0])["command"].([]any) {
		program = append(program, strings.ReplaceAll(word.(string), "$$", "$"))
	}
	return program, nil
}
