written by hand in the form of: osu_latency on a page
