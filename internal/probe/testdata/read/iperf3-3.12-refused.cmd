client: iperf3 -c 127.0.0.1 -p 5909 -t 1
