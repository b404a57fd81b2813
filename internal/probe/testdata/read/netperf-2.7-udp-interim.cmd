client: netperf -H 10.99.0.2 -l 1 -t UDP_STREAM -D 0.5 -- -m 1400
