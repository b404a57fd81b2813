written by hand in the form of 3.7: iperf3 -u -b 0 -O 1 -t 2 -c 10.32.0.3
