written by hand in the form of: iperf -d -y C -c 10.0.0.2
