server: sockperf server --uc-reuseaddr -i 10.64.2.1 -p 5201
client: sockperf ping-pong -i 10.64.2.1 -p 5201 -t 1 -m 64
