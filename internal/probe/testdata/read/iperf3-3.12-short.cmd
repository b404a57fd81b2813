client: iperf3 -n 1 -c 127.0.0.1
