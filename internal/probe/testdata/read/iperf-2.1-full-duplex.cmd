written by hand in the form of: iperf -e -c 10.0.0.2 --full-duplex
