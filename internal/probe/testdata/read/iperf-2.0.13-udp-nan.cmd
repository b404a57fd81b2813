written by hand in the form of: iperf -u -b 2g -c 172.17.0.1
