client: iperf3 --timestamps -t 2 -c 127.0.0.1
