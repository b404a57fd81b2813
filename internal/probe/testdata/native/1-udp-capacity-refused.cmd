weir engine run udp-search 127.0.0.1:9 --timeout 50ms
