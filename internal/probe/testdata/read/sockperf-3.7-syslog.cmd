client: sockperf throughput --tcp -i 127.0.0.1, in the form of syslog
