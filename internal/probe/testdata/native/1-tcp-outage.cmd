weir engine run tcp-outage 127.0.0.1:5201 --duration 200ms --warmup 50ms --size 64 --rate 1000
