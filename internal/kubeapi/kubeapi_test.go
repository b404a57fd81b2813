package kubeapi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/weir-bench/weir/internal/plan"
)

func serve(t *testing.T) string {
	t.Helper()
	addr := netip.MustParseAddr
	objects := plan.KubeObjects{Nodes: map[string]netip.Addr{"h1": addr("198.18.0.1")}, Services: []plan.KubeService{
		{Name: "other", Addr: addr("172.30.0.1"), Endpoint: addr("10.64.2.1"), Ports: [][2]int{{80, 80}}, Protos: []string{"TCP"}},
		{Name: "h2p1", Addr: addr("172.30.0.2"), Endpoint: addr("10.64.2.1"), Ports: [][2]int{{1, 2}, {7, 7}}, Protos: []string{"TCP", "UDP"}}}}
	s := httptest.NewServer((&server{KubeObjects: objects, gone: map[string]bool{}, changed: make(chan struct{})}).handler())
	t.Cleanup(s.Close)
	return s.URL
}

// An entry is what the test reads of objects.
type entry struct {
	Metadata  struct{ Name, ResourceVersion string }
	Endpoints []struct{ Addresses []string }
	Spec      struct {
		ClusterIP string
		Ports     []struct{ Port int }
	}
}

func get(t *testing.T, method, url string, into any) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if into != nil {
		if err := json.NewDecoder(a.Body).Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	return a.StatusCode
}

// Lists have every port, and a watch from a list's version hears of each change of an endpoint once, in order.
func TestListAndWatch(t *testing.T) {
	url := serve(t)
	var services, slices struct {
		Metadata struct{ ResourceVersion string }
		Items    []entry
	}
	get(t, "GET", url+"/api/v1/services?limit=500", &services)
	if len(services.Items) != 2 || services.Items[1].Spec.ClusterIP != "172.30.0.2" || len(services.Items[1].Spec.Ports) != 6 {
		t.Errorf("services: %+v", services)
	}
	const path = "/apis/discovery.k8s.io/v1/endpointslices"
	get(t, "GET", url+path, &slices)
	if len(slices.Items) != 2 || fmt.Sprint(slices.Items[1].Endpoints) != "[{[10.64.2.1]}]" {
		t.Errorf("slices: %+v", slices)
	}
	if s := get(t, "DELETE", url+"/endpoints/h2p1", nil); s != http.StatusOK { // before the watch begins
		t.Fatal(s)
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", url+path+"?watch=true&resourceVersion="+slices.Metadata.ResourceVersion, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	lines := bufio.NewScanner(a.Body)
	for i, want := range []string{"[]", "[{[10.64.2.1]}]", "[]"} {
		if i > 0 {
			get(t, []string{"DELETE", "PUT"}[i%2], url+"/endpoints/h2p1", nil)
		}
		var event struct {
			Type   string
			Object entry
		}
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil || event.Type != "MODIFIED" || event.Object.Metadata.Name != "h2p1" || fmt.Sprint(event.Object.Endpoints) != want {
			t.Errorf("event %d: %s, %v, want %s", i, lines.Bytes(), err, want)
		}
	}
	get(t, "GET", url+path, &slices)
	if slices.Metadata.ResourceVersion != "4" || len(slices.Items[1].Endpoints) != 0 {
		t.Errorf("slices after three changes: %+v", slices)
	}
}

func TestRefused(t *testing.T) {
	url := serve(t)
	for request, want := range map[string]int{
		"DELETE /endpoints/other2":                                 404,
		"GET /api/v1/nodes/h9":                                     404,
		"GET /api/v1/nodes/h1":                                     200,
		"GET /api/v1/pods":                                         404,
		"GET /api/v1/services?watch=true&resourceVersion=x":        400,
		"GET /api/v1/services?watch=true&sendInitialEvents=true":   400,
		"POST /apis/events.k8s.io/v1/namespaces/default/events":    404,
		"GET /apis/networking.k8s.io/v1/servicecidrs?limit=500":    200,
		"GET /apis/discovery.k8s.io/v1/endpointslices?watch=false": 200,
	} {
		var method, path string
		if _, err := fmt.Sscan(request, &method, &path); err != nil {
			t.Fatal(err)
		}
		if got := get(t, method, url+path, nil); got != want {
			t.Errorf("%s: %d, want %d", request, got, want)
		}
	}
}
