written by hand in the form of: sockperf ping-pong, without its first lines, behind the tag of a runner
