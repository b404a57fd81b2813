client: netperf -H 10.64.2.1 -p 5201 -l 1 -t TCP_STREAM -- -P ,5211 -m 131072 -K cubic -k PROTOCOL
