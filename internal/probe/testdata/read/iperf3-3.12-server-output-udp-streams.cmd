client: iperf3 -u -b 5M -P 2 --get-server-output -t 1 -c 127.0.0.1
