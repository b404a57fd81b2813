weir engine ping 127.0.0.1 --duration 200ms --warmup 50ms --size 56 --interval 10ms
