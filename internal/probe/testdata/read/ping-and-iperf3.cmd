client: ping -c 4 10.42.1.7; iperf3 -t 1 -c 127.0.0.1
