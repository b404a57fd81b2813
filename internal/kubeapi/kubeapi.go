// Package kubeapi stands in for the part of a Kubernetes API server that kube-proxy reads: nodes, Services and EndpointSlices,
// as lists and watches. The endpoint of a Service can be removed and added, and those who watch hear of it at once.
//
// It must not act as an API server for anything else: it stores nothing, admits everybody who reaches it, and takes no object
// of Kubernetes.
package kubeapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/plan"
)

// Ready is the line that Run prints when it can be asked.
const Ready = "kube-api: ready"

// A server holds the objects. Only endpoints change.
type server struct {
	plan.KubeObjects

	mu      sync.Mutex
	gone    map[string]bool // Services without their endpoint
	changes []change        // in order: change i has made version i+2
	changed chan struct{}   // closed by the next change
}

// A change is an EndpointSlice as it became.
type change struct {
	version int
	object  object
}

type object = map[string]any

// Run serves the objects at addr until ctx ends.
func Run(ctx context.Context, addr string, objects plan.KubeObjects, out io.Writer) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	s := &server{KubeObjects: objects, gone: map[string]bool{}, changed: make(chan struct{})}
	h := http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = caught.Error(h.Close) })
	defer stop()
	fmt.Fprintln(out, Ready)
	if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/nodes", s.list("v1", "Node", s.nodes))
	mux.HandleFunc("GET /api/v1/nodes/{name}", s.node)
	mux.HandleFunc("GET /api/v1/services", s.list("v1", "Service", s.services))
	mux.HandleFunc("GET /apis/discovery.k8s.io/v1/endpointslices", s.list("discovery.k8s.io/v1", "EndpointSlice", s.slices))
	mux.HandleFunc("GET /apis/networking.k8s.io/v1/servicecidrs", s.list("networking.k8s.io/v1", "ServiceCIDR", func() []object { return nil }))
	mux.HandleFunc("PUT /endpoints/{name}", s.set(false))
	mux.HandleFunc("DELETE /endpoints/{name}", s.set(true))
	return mux
}

// list answers a list, or a watch on what the list holds.
func (s *server) list(version, kind string, all func() []object) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("watch") != "" && q.Get("watch") != "false" {
			seen, err := strconv.Atoi(cmp.Or(q.Get("resourceVersion"), "0"))
			if err != nil || q.Get("sendInitialEvents") == "true" {
				fail(w, http.StatusBadRequest, "a watch needs the version of a list")
				return
			}
			s.watch(w, r, kind, seen)
			return
		}
		s.mu.Lock()
		o := object{"apiVersion": version, "kind": kind + "List", "metadata": object{"resourceVersion": strconv.Itoa(s.version())}, "items": all()}
		s.mu.Unlock()
		send(w, http.StatusOK, o)
	}
}

// version is that of the objects now, from 1.
func (s *server) version() int { return len(s.changes) + 1 }

// watch tells of every change since the version seen, until the client leaves. Only EndpointSlices change.
func (s *server) watch(w http.ResponseWriter, r *http.Request, kind string, seen int) {
	w.Header().Set("Content-Type", "application/json")
	flush := http.NewResponseController(w)
	for {
		s.mu.Lock()
		news, next := s.changes[min(max(0, seen-1), len(s.changes)):], s.changed
		seen = s.version()
		s.mu.Unlock()
		for _, c := range news {
			if kind == "EndpointSlice" && json.NewEncoder(w).Encode(object{"type": "MODIFIED", "object": c.object}) != nil {
				return
			}
		}
		if flush.Flush() != nil {
			return
		}
		select {
		case <-next:
		case <-r.Context().Done():
			return
		}
	}
}

// set removes the endpoint of a Service, or adds it.
func (s *server) set(gone bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		i := slices.IndexFunc(s.Services, func(v plan.KubeService) bool { return v.Name == r.PathValue("name") })
		if i < 0 {
			fail(w, http.StatusNotFound, fmt.Sprintf("no service %q", r.PathValue("name")))
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gone[s.Services[i].Name] = gone
		s.changes = append(s.changes, change{s.version() + 1, nil})
		last := &s.changes[len(s.changes)-1]
		last.object = s.slice(s.Services[i], last.version)
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

func (s *server) nodes() (all []object) {
	for _, name := range slices.Sorted(maps.Keys(s.Nodes)) {
		all = append(all, nodeObject(name, s.Nodes[name]))
	}
	return all
}

func (s *server) node(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if addr, ok := s.Nodes[name]; ok {
		send(w, http.StatusOK, nodeObject(name, addr))
		return
	}
	fail(w, http.StatusNotFound, fmt.Sprintf("no node %q", name))
}

func nodeObject(name string, addr netip.Addr) object {
	return object{"apiVersion": "v1", "kind": "Node", "metadata": meta(name, 1), "spec": object{},
		"status": object{"addresses": []object{{"type": "InternalIP", "address": addr}}}}
}

func meta(name string, version int) object {
	return object{"name": name, "uid": name, "resourceVersion": strconv.Itoa(version)}
}

func (s *server) services() (all []object) {
	for _, v := range s.Services {
		var ports []object
		v.EachPort(func(name, protocol string, port int) {
			ports = append(ports, object{"name": name, "protocol": protocol, "port": port, "targetPort": port})
		})
		m := meta(v.Name, 1)
		m["namespace"] = "weir"
		all = append(all, object{"apiVersion": "v1", "kind": "Service", "metadata": m, "spec": object{"type": "ClusterIP", "clusterIP": v.Addr, "clusterIPs": []netip.Addr{v.Addr},
			"ipFamilies": []string{"IPv4"}, "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster", "sessionAffinity": "None", "ports": ports}})
	}
	return all
}

func (s *server) slices() (all []object) {
	for _, v := range s.Services {
		all = append(all, s.slice(v, 1))
	}
	return all
}

func (s *server) slice(v plan.KubeService, version int) object {
	var ports []object
	v.EachPort(func(name, protocol string, port int) {
		ports = append(ports, object{"name": name, "protocol": protocol, "port": port})
	})
	endpoints := []object{}
	if !s.gone[v.Name] {
		endpoints = append(endpoints, object{"addresses": []netip.Addr{v.Endpoint}, "conditions": object{"ready": true, "serving": true, "terminating": false}})
	}
	m := meta(v.Name, version)
	m["namespace"], m["labels"] = "weir", object{"kubernetes.io/service-name": v.Name}
	return object{"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": m, "addressType": "IPv4", "endpoints": endpoints, "ports": ports}
}

func send(w http.ResponseWriter, status int, o object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(o) // whoever asked has left
}

func fail(w http.ResponseWriter, status int, why string) {
	send(w, status, object{"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": why, "code": status, "reason": strings.ReplaceAll(http.StatusText(status), " ", "")})
}
