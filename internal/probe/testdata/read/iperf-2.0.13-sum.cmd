written by hand in the form of: iperf -c 10.0.0.2 -i 10 -t 20 -P 2
