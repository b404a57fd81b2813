weir engine run quic-rr 127.0.0.1:5201 --duration 200ms --warmup 50ms --size 64 --inflight 2 --cc cubic --packet 1422
