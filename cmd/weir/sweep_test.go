package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// sweep makes all calls of all writers fail, in a random order, until the time is up.
func sweep(t *testing.T, count *tally, d time.Duration) {
	late := time.Now().Add(d)
	from := begun(t)
	var all []injection
	for _, w := range writers {
		if (w.name == "image" || w.name == "package") && staticErr() != nil {
			continue
		}
		spots, n := w.spots(t, from)
		for _, s := range spots {
			for _, m := range mishaps[s.call] {
				all = append(all, injection{w, s, m, "1"})
				if n[s] > 1 {
					all = append(all, injection{w, s, m, "2"})
				}
				if strings.HasPrefix(m, "error=") && m != "error=EINTR" {
					all = append(all, injection{w, s, m, "1+"})
				}
			}
		}
	}
	rng := rand.New(rand.NewPCG(*soakSeed, 1))
	rng.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	count.Units[1] = len(all)
	next := make(chan injection)
	go func() {
		defer close(next)
		for _, i := range all {
			if time.Now().After(late) {
				return
			}
			next <- i
		}
	}()
	t.Run(sweeping, func(t *testing.T) {
		for w := range 2 {
			t.Run(fmt.Sprint(w), func(t *testing.T) {
				t.Parallel()
				for i := range next {
					t.Run(i.String(), func(t *testing.T) { // its files go with it
						came := i.inject(t, from)
						count.Lock()
						defer count.Unlock()
						count.Units[0]++
						if came {
							count.Calls++
						}
					})
				}
			})
		}
	})
}
