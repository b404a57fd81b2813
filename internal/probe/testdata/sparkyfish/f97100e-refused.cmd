client: weir host pty 100x40 q '[r]etest' 'Press q to quit' -- sparkyfish 127.0.0.1:9
