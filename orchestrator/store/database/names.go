package database

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// ErrNotFound means that the record holds no such run or promotion. Its text helps a person who mistyped a name.
var ErrNotFound = errors.New("not found; `agent runs list` shows the runs")

// An AmbiguousError means that a prefix names several runs, or loops.
type AmbiguousError struct {
	Prefix string
	IDs    []string // newest first, at most ten
}

// Error lists what the prefix may refer to.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s is ambiguous: it may be %s; give more characters", e.Prefix, strings.Join(e.IDs, ", "))
}

// Missing turns the absence of a row into ErrNotFound and leaves other errors, and nil, as they are.
func Missing(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrNotFound
	}
	return err
}
