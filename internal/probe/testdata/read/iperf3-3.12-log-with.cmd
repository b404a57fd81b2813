client: iperf3 -J -R -t 1 -c 127.0.0.1, in the log of a program
