weir engine run tcp-stream 127.0.0.1:5201 --duration 200ms --warmup 50ms --size 131072 --streams 2 --cc cubic --dscp 0 --rate 1e+09
