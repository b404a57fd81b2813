client: sockperf throughput -i 127.0.0.1 -p 5922 -t 1 -m 1400
