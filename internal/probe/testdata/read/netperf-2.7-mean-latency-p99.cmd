client: netperf -H 10.99.0.2 -l 1 -t TCP_RR -- -o mean_latency,p99_latency
