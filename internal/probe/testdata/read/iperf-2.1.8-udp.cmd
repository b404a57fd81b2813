client: iperf -c 127.0.0.1 -u -b 20m -p 5924 -t 1
