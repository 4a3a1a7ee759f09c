package sandbox

import "fmt"

// Limits bound what one box may use. A field that is zero means the default in brackets.
type Limits struct {
	// Memory is in bytes and includes the files in Work and Tmp, which live in memory. There is no swap. [Programs +
	// Work]
	Memory int64
	// Programs is the memory left to programs besides Work, in bytes, when Memory is not set. [1 GiB]
	Programs int64
	// CPUs is how many processors' worth of time the box gets. [2]
	CPUs float64
	// PIDs is how many processes and threads may exist at once. [256]
	PIDs int64
	// Work is the size of /work in bytes. [256 MiB]
	Work int64
	// Inodes is how many files and directories /work may hold. [50,000]
	Inodes int64
	// Tmp is the size of /tmp, and also of /dev/shm, in bytes. [64 MiB]
	Tmp int64
	// MaxFile is the largest size of one file in bytes, RLIMIT_FSIZE. [100 MiB]
	MaxFile int64
}

// The smallest limits under which the guest itself works.
const (
	leastMemory = 16 << 20
	// leastPIDs leaves some processes to the command: the guest's threads count too.
	leastPIDs = 32
)

// The memory of programs, besides the files of /work: an eighth of the machine, within bounds. Test suites are written
// on machines that give them everything, and a box that stops one for lack of memory has judged nothing.
const (
	leastPrograms   = 1 << 30
	mostPrograms    = 4 << 30
	shareOfPrograms = 8
)

// ForPrograms returns how much memory boxes leave to programs on an engine whose machine has memory bytes, also in
// bytes.
func ForPrograms(memory int64) int64 {
	return min(max(memory/shareOfPrograms, leastPrograms), mostPrograms)
}

// WithDefaults returns l with its zero fields filled in.
func (l Limits) WithDefaults() Limits {
	if l.CPUs == 0 {
		l.CPUs = 2
	}
	l.PIDs = orDefault(l.PIDs, 256)
	l.Work = orDefault(l.Work, 256<<20)
	l.Inodes = orDefault(l.Inodes, 50_000)
	l.Tmp = orDefault(l.Tmp, 64<<20)
	l.MaxFile = orDefault(l.MaxFile, 100<<20)
	// The kernel charges the files of a tmpfs to the box.
	l.Programs = orDefault(l.Programs, leastPrograms)
	l.Memory = orDefault(l.Memory, l.Programs+l.Work)
	return l
}

func orDefault(n, otherwise int64) int64 {
	if n == 0 {
		return otherwise
	}
	return n
}

// check refuses values that would mean no limit, since the engine takes 0 and less for "unlimited", and values under
// which no guest could start.
func (l Limits) check() error {
	switch {
	case l.Memory < leastMemory:
		return fmt.Errorf("memory limit of %d bytes: at least %d", l.Memory, leastMemory)
	case l.PIDs < leastPIDs:
		return fmt.Errorf("limit of %d processes: at least %d", l.PIDs, leastPIDs)
	case l.CPUs < 0.01:
		return fmt.Errorf("limit of %g processors: at least 0.01", l.CPUs)
	case l.Work <= 0 || l.Inodes <= 0 || l.Tmp <= 0 || l.MaxFile <= 0:
		return fmt.Errorf("limits of /work, /tmp and files must be above 0: %+v", l)
	}
	return nil
}
