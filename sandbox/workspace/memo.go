package workspace

import "sync"

// A Memo keeps what was found out about one state of a workspace and stays true of that state: finding it may take a
// look at every file. The zero value is ready to use, and safe for concurrent use.
type Memo struct{ facts sync.Map }

// A fact is found by the first caller that asks, while the others wait.
type fact struct {
	mu    sync.Mutex
	found bool
	value any
}

// Recall returns what find returns. It calls find once for each key, which must have a type of the caller's own. It
// returns an error without keeping it, so the next caller tries again. On a nil memo it always calls find. The caller
// must not change a slice that it gets.
func Recall[T any](m *Memo, key any, find func() (T, error)) (T, error) {
	if m == nil {
		return find()
	}
	loaded, _ := m.facts.LoadOrStore(key, &fact{})
	f := loaded.(*fact)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.found {
		return f.value.(T), nil
	}
	value, err := find()
	if err == nil {
		f.value, f.found = value, true
	}
	return value, err
}
