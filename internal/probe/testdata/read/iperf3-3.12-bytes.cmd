client: iperf3 -c 10.99.0.2 -n 10K
