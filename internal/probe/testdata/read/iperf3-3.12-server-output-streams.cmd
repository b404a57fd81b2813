client: iperf3 --get-server-output -P 2 -t 2 -c 127.0.0.1
