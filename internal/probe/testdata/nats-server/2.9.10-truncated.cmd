server: weir host private -- nats-server -a 10.64.2.1 -p 5201
client: weir engine nats 10.64.2.1:5201 --duration 1s --warmup 0s --size 64 --inflight 16
