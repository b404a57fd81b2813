server: sparkyfish-server -listen-addr 10.64.2.1:5201
client: weir host pty 100x40 q '[r]etest' 'Press q to quit' -- sparkyfish 10.64.2.1:5201
