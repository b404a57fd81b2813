client: iperf -c 127.0.0.1 -u -b 20m -p 5924 -t 2 -i 1 # the server was stopped
