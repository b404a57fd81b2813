client: sockperf ping-pong --tcp -i 127.0.0.1 -p 5921 -t 1 --full-rtt
