client: iperf3 -R -P 4 -t 2 -c 127.0.0.1 | sed "s/^/Client on 10.0.0.5:  /"
