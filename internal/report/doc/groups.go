package doc

// groups are lists by key, in order of first use.
type Groups[K comparable, V any] struct {
	Keys []K
	Of   map[K][]V
}

// Add appends to the list of a key.
func (g *Groups[K, V]) Add(k K, v V) {
	if g.Of == nil {
		g.Of = map[K][]V{}
	}
	if g.Of[k] == nil {
		g.Keys = append(g.Keys, k)
	}
	g.Of[k] = append(g.Of[k], v)
}
