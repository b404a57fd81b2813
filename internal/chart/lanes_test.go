package chart

// twoWays has a lane with a long name, a lane that a packet skips, and a color that is not used.
var twoWays = Lanes{[]string{"h1p1", "h1", "a-node-with-a-very-long-name", "h2p1"}, []LanePanel{
	{"request, 2.10 µs", []Stop{{0, 0, 0, "eth0", ""}, {0, 0.3, 5, "eth0", "0.3"}, {1, 0.5, 1, "p1", "0.2"}, {1, 1.1, 0, "p1", "0.6"}, {1, 1.4, 2, "vx0", "0.3"}, {2, 1.5, 1, "eth0", "0.1"}, {3, 2.1, 3, "eth0", "0.6"}}},
	{"reply, 1.00 µs", []Stop{{3, 0, 0, "eth0", ""}, {0, 1, 4, "eth0", "1.0"}}}},
	[6]string{"softirq 0.60 µs", "device to device 0.30 µs", "bridge, route 0.30 µs", "user space 0.60 µs", "", "to the driver 0.30 µs"}, "time since the first device, µs", "Lanes."}
