written by hand in the form of: netperf -H 10.0.0.2, twice
