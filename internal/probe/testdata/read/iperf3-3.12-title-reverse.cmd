client: iperf3 -P 2 -T "node 3/pod-b" -R -f g -t 1 -c 127.0.0.1
