package analysis

import "github.com/HdrHistogram/hdrhistogram-go"

// An Echo is the last line of ping(8) for all answered requests of a cell, in s: rtt min/avg/max/mdev. Lost
// requests are not in it. The times are as exact as a histogram: 0.1 %.
type Echo struct {
	Min  float64 `json:"min"`
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
	// Mdev is the standard deviation with n in the denominator (finish, ping/ping_common.c, iputils
	// 20240905), not the mean deviation that its name suggests.
	Mdev float64 `json:"mdev"`
	N    int64   `json:"n"` // answered requests
}

func echo(h *hdrhistogram.Histogram) *Echo {
	return &Echo{Min: float64(h.Min()) / 1e9, Mean: h.Mean() / 1e9, Max: float64(h.Max()) / 1e9, Mdev: h.StdDev() / 1e9, N: h.TotalCount()}
}
