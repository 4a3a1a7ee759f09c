package store

import "time"

// WithQueryLimit returns db with another time limit for Query.
func WithQueryLimit(db *DB, limit time.Duration) *DB {
	return &DB{pool: db.pool, address: db.address, limit: limit}
}
