written by hand in the form of: iperf -c 10.0.0.2 -u -b 100m -y C
