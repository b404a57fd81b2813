client: iperf3 -c 10.99.0.2 -t 1 --forceflush -f m -P 3 -V
