// Package process supervises the processes of a box for its first process. It waits for each of them, ends what a
// command leaves behind, detects when all are idle, and protects the first process from them. It works only in the
// first process of a PID namespace: anywhere else it would wait for, and kill, processes of the host.
package process

// Ended reports whether done is closed.
func Ended(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
