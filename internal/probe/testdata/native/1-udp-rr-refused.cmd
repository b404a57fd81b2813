weir engine run udp-rr 127.0.0.1:9 --timeout 50ms
