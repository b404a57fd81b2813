client: iperf3 -R --get-server-output -t 1 -c 127.0.0.1
