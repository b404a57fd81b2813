client: iperf3 -u -b 5M "--timestamps=%FT%T%z " -t 1 -c 127.0.0.1
