package workspace

import "sync"

// A Memo keeps what was found out about one state of a workspace, which stays true
// for as long as that state is asked about: to find it may take a look at every file.
// The zero value is ready, and safe for concurrent use.
type Memo struct{ facts sync.Map }

// A fact is found by the first who asks, while the others wait.
type fact struct {
	mu    sync.Mutex
	found bool
	value any
}

// Recall returns what find finds, which is asked once for each key, of a type of the
// caller's own. An error is returned and not kept: the next one asks again. On a nil
// memo find is asked every time. Who is given a slice must not change it.
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
