client: iperf -c 10.99.0.2 -t 1 --bounceback
