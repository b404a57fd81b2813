package chart

// flame has frames of all colors, names that do not fit, and frames too narrow to draw.
var flame = Flame{Less: "less than on host", More: "only on vxlan-overlay", Alt: "Flame graph.", Frames: []Frame{
	{Label: "weir engine agent", Long: "weir engine agent", Title: "sender: <8 µs>", Value: 8000, Shade: 0.1, Calls: []Frame{
		{Label: "UDP", Long: "UDP: udp_sendmsg", Value: 6000, Shade: 0.4, Calls: []Frame{
			{Label: "vxlan and tunnels", Long: "vxlan and tunnels: vxlan_xmit", Value: 900, Shade: 1},
			{Label: "br_netfilter", Long: "br_netfilter: br_nf_pre_routing", Value: 300, Shade: 1},
			{Label: "x", Long: "x", Value: 5}}},
		{Label: "copy", Long: "copy: _copy_from_iter", Value: 1000, Shade: -1}}},
	{Label: "weir engine serve", Long: "weir engine serve", Value: 1500, Shade: -0.4}}}
