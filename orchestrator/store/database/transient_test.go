package database

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Failures caused by a temporary shortage on the server are tried again; failures of the statement itself are not.
func TestWhatIsTriedAgain(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"40001": true, "40P01": true, "57P01": true, "53300": true, "08006": true,
		"53200": true, // also if the lock table for all sessions is full
		"53100": false, "23505": false, "42601": false, "08P01": false,
	} {
		if got := Transient(fmt.Errorf("record: %w", &pgconn.PgError{Code: code})); got != want {
			t.Errorf("%s: %v, want %v", code, got, want)
		}
	}
	if Transient(errors.New("else")) {
		t.Error("any error is tried again")
	}
}
