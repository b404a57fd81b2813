client: netperf -H 10.99.0.2 -l 1 -t UDP_RR -- -o mean_latency (shortened)
