as bounceback, without its head
