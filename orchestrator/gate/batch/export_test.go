package batch

// Expect makes the queue wait for another question of a member that has passed.
func (m *Member) Expect() {
	m.queue.mu.Lock()
	defer m.queue.mu.Unlock()
	m.queue.members[m] = true
}
