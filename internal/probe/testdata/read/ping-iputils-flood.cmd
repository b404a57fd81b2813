client: ping -c 50 -f -q 10.99.0.2
