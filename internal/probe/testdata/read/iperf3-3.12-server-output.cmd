client: iperf3 --get-server-output -t 2 -c 127.0.0.1
