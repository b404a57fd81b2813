weir engine run udp-stream 127.0.0.1:5201 --duration 200ms --warmup 50ms --size 18 --rate 0 --send mmsg --batch 32 --recv mmsg --nap 50µs
