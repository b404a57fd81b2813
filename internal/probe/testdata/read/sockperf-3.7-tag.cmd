client: sockperf ping-pong --full-rtt -i 127.0.0.1, behind the tag of a runner
