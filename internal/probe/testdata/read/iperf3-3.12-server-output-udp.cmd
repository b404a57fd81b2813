client: iperf3 --get-server-output -u -b 20m -t 2 -c 127.0.0.1
