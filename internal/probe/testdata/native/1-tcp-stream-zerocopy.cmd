weir engine run tcp-stream 127.0.0.1:5201 --duration 200ms --warmup 50ms --size 131072 --streams 1 --cc cubic --dscp 10 --discard --zerocopy
