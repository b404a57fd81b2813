weir engine run udp-stream 127.0.0.1:5201 --duration 200ms --warmup 50ms --size 18 --rate 1e6 --send single --batch 1 --recv mmsg --nap 0s --streams 3
