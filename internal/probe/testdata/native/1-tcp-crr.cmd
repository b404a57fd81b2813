weir engine run tcp-crr 127.0.0.1:5201 --duration 200ms --warmup 50ms --size 64 --cc cubic
