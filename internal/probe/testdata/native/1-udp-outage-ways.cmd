weir engine run udp-outage 127.0.0.1:5201 --duration 500ms --warmup 50ms --size 64 --rate 2000
