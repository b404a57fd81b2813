server: iperf3 -s -1
