client: sockperf pp -i 10.99.0.2 -p 11111 -t 1 --full-rtt -m 64 --tcp
