package run

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// NewID returns a name for a run: 12 characters of Crockford's base 32 in lower case. The first 7 are the seconds since the epoch, so
// that names sort by time and a short prefix is easy to type. The last 5 are random (25 bits).
func NewID(now time.Time) string {
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	// 35 bits of seconds last until the year 3058.
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(now.Unix())<<29)
	var r [4]byte
	rand.Read(r[:]) // never returns an error, see crypto/rand
	low := uint64(binary.BigEndian.Uint32(r[:])&(1<<25-1)) << 4
	binary.BigEndian.PutUint64(b[:], binary.BigEndian.Uint64(b[:])|low)
	return base32.NewEncoding(alphabet).WithPadding(base32.NoPadding).EncodeToString(b[:])[:12]
}
