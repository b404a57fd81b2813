package network

import (
	"maps"
	"strconv"

	"github.com/weir-bench/weir/internal/plan"
)

// envoyMark is on the packets of Envoy's own connections, by which the rules know them (SO_MARK, socket(7)).
const envoyMark = 15001

// envoyHTTP is the protocol that a proxy names to the other one (ALPN) for what it read as HTTP, as Istio's do.
const envoyHTTP = "weir-http"

// envoy runs without hot restart, which would need shared memory, and without an administration interface.
func (n Proxy) envoy() proxyProgram {
	return proxyProgram{conf: "envoy.json", content: n.envoyConf(), version: []string{"envoy", "--version"}, service: plan.Service{Name: Envoy,
		Argv:  []string{"envoy", "-c", plan.Dir + "/envoy.json", "--disable-hot-restart", "--concurrency", strconv.Itoa(n.Threads)},
		Ready: plan.Ready{Line: "starting workers", Timeout: 30}}} // seconds, for a busy machine
}

type object = map[string]any

// envoyConf is a static configuration (Envoy's API v3): a listener finds the destination that the rules replaced, and a cluster connects to it.
func (n Proxy) envoyConf() string {
	out, in := n.envoyListener("out", proxyOut, "", nil), n.envoyListener("in", proxyIn, "", nil)
	clusters := n.envoyClusters("", nil)
	if n.MTLS {
		out, in = n.envoyListener("out", proxyOut, "peer-", nil), n.envoyListener("in", proxyIn, "", envoyAccepts)
		clusters = append(clusters, n.envoyClusters("peer-", envoyConnects)...)
	}
	return toJSON(object{"static_resources": object{"listeners": []object{out, in}, "clusters": clusters}})
}

// envoyListener hands connections to the clusters whose names begin with to. tls, if not nil, is what clients have to speak.
func (n Proxy) envoyListener(name string, port int, to string, tls func(protocol string) object) object {
	chain := func(protocol string, filter object) object {
		c := object{"filters": []object{filter}}
		if tls != nil {
			c["transport_socket"] = tls(protocol)
		}
		return c
	}
	filters := []object{envoyExtension("filters.listener.original_dst.v3.OriginalDst", nil)}
	chains := []object{chain("", envoyExtension("filters.network.tcp_proxy.v3.TcpProxy", object{"stat_prefix": name, "cluster": to + "bytes"}))}
	if n.L7 {
		inspector, protocols := "filters.listener.http_inspector.v3.HttpInspector", []string{"http/1.0", "http/1.1"}
		if tls != nil {
			inspector, protocols = "filters.listener.tls_inspector.v3.TlsInspector", []string{envoyHTTP}
		}
		filters = append(filters, envoyExtension(inspector, nil))
		route := object{"match": object{"prefix": "/"}, "route": object{"cluster": to + "http"}}
		http := chain(envoyHTTP, envoyExtension("filters.network.http_connection_manager.v3.HttpConnectionManager", object{"stat_prefix": name,
			"route_config": object{"virtual_hosts": []object{{"name": "all", "domains": []string{"*"}, "routes": []object{route}}}},
			"http_filters": []object{envoyExtension("filters.http.router.v3.Router", nil)}}))
		http["filter_chain_match"] = object{"application_protocols": protocols}
		chains = append(chains, http)
	}
	return object{"name": name, "address": object{"socket_address": object{"address": "0.0.0.0", "port_value": port}},
		"listener_filters": filters, "continue_on_listener_filters_timeout": true, "filter_chains": chains}
}

// envoyClusters connect to where a connection was going, for bytes and, with L7, for HTTP.
func (n Proxy) envoyClusters(prefix string, tls func(protocol string) object) (clusters []object) {
	const solSocket, soMark = 1, 36 // include/uapi/asm-generic/socket.h
	mark := object{"level": solSocket, "name": soMark, "int_value": envoyMark}
	protocols := map[string]string{"bytes": "", "http": envoyHTTP}
	names := []string{"bytes"}
	if n.L7 {
		names = append(names, "http")
	}
	for _, name := range names {
		c := object{"name": prefix + name, "type": "ORIGINAL_DST", "lb_policy": "CLUSTER_PROVIDED", "upstream_bind_config": object{"socket_options": []object{mark}}}
		if tls != nil {
			c["transport_socket"] = tls(protocols[name])
		}
		clusters = append(clusters, c)
	}
	return clusters
}

func envoyAccepts(protocol string) object {
	return envoyTLS("Downstream", protocol, object{"require_client_certificate": true})
}

func envoyConnects(protocol string) object {
	return envoyTLS("Upstream", protocol, object{"sni": plan.IdentityName})
}

// envoyTLS is only TLS 1.3, with a certificate that both ends show.
func envoyTLS(end, protocol string, settings object) object {
	const version = "TLSv1_3"
	pem := object{"filename": plan.Dir + "/" + proxyPEM}
	common := object{"tls_params": object{"tls_minimum_protocol_version": version, "tls_maximum_protocol_version": version},
		"tls_certificates": []object{{"certificate_chain": pem, "private_key": pem}},
		"validation_context": object{"trusted_ca": object{"filename": plan.Dir + "/" + proxyCA},
			"match_typed_subject_alt_names": []object{{"san_type": "DNS", "matcher": object{"exact": plan.IdentityName}}}}}
	if protocol != "" {
		common["alpn_protocols"] = []string{protocol}
	}
	settings["common_tls_context"] = common
	return envoyExtension("transport_sockets.tls.v3."+end+"TlsContext", settings)
}

func envoyExtension(kind string, settings object) object {
	typed := object{"@type": "type.googleapis.com/envoy.extensions." + kind}
	maps.Copy(typed, settings)
	return object{"name": kind, "typed_config": typed}
}
