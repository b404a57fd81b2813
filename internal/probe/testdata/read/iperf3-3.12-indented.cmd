client: iperf3 -t 1 -c 127.0.0.1, indented as on a page
