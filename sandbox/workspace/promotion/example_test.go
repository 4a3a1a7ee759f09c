package promotion_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/promotion"
)

// A changeset is promoted to the user's directory and undone again.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "greet.py")
	if err := os.WriteFile(name, []byte("print('helo')\n"), 0o644); err != nil {
		fmt.Println(err)
		return
	}

	base, err := workspace.Scan(context.Background(), dir, nil, workspace.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	cs := workspace.Changeset{Changes: []workspace.Change{{
		Op: workspace.Modify, Path: "greet.py", Mode: 0o644,
		Before: []byte("print('helo')\n"),
		After:  []byte("print('hello')\n"),
	}}}
	for _, step := range []workspace.Changeset{cs, cs.Reverse(), cs.Reverse()} {
		err := promote(dir, step)
		content, _ := os.ReadFile(name)
		var conflict *promotion.ConflictError
		fmt.Printf("%s conflict: %v\n", content[:len(content)-1], errors.As(err, &conflict))
	}
	now, err := workspace.Scan(context.Background(), dir, nil, workspace.Limits{})
	fmt.Println(err, now.Digest() == base.Digest())
	// Output:
	// print('hello') conflict: false
	// print('helo') conflict: false
	// print('helo') conflict: true
	// <nil> true
}

// promote makes the calls for one changeset in their order.
func promote(dir string, cs workspace.Changeset) error {
	lock, err := promotion.Acquire(dir)
	if err != nil {
		return err
	}
	defer lock.Release()
	past, err := lock.Recover(context.Background())
	if err != nil {
		return err
	}
	for _, r := range past {
		// Record r.Outcome here.
		if err := r.Discard(); err != nil {
			return err
		}
	}
	p, err := lock.Prepare(context.Background(), cs, "run-7", nil)
	if err != nil {
		return err
	}
	// Record the outcome here, before Close.
	return errors.Join(p.Commit(context.Background()), p.Close())
}
