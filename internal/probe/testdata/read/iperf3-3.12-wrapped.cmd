two clients: iperf3 -J -t 1 [-R] -c 127.0.0.1, in the JSON of a runner
