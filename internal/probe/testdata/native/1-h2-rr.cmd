weir engine run h2-rr 127.0.0.1:5201 --duration 200ms --warmup 50ms --size 64 --inflight 4 --cc cubic --rate 500
