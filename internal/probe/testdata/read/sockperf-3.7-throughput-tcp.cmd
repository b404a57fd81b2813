client: sockperf throughput --tcp -i 127.0.0.1 -p 5921 -t 1 -m 1400
