client: weir engine nats 127.0.0.1:4
