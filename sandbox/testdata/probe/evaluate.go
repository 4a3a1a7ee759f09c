package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A weakness is what somebody who has got into a container looks for first.
type weakness struct {
	// Capabilities that are held, or can be gained.
	Capabilities []string
	// Sockets are files that lead to a service, as /run/docker.sock, and what listens by name alone.
	Sockets []string
	// Writable are the directories in which a file can be made, without those below them.
	Writable []string
	// Devices other than those that every container has.
	Devices []string
	// Special are files that lend their owner's rights.
	Special []string
	// Networks are the devices, Routes where they lead.
	Networks, Routes []string
	// First is the name of the first process: that of the host's, where its processes are in sight.
	First string
}

// everyDevice is what a program expects to find in /dev.
var everyDevice = []string{"console", "full", "null", "ptmx", "random", "tty", "urandom", "zero"}

// evaluate looks around as the well-known tools for that do, at every file, and prints as JSON what it found.
func evaluate() {
	var w weakness
	for _, line := range lines("/proc/self/status") {
		if name, value, _ := strings.Cut(line, ":"); strings.HasPrefix(name, "Cap") && strings.Trim(value, "\t0") != "" {
			w.Capabilities = append(w.Capabilities, line)
		}
	}
	for _, line := range lines("/proc/net/unix")[1:] {
		if fields := strings.Fields(line); len(fields) > 7 {
			w.Sockets = append(w.Sockets, fields[7])
		}
	}
	for _, line := range lines("/proc/net/dev")[2:] {
		name, _, _ := strings.Cut(line, ":")
		w.Networks = append(w.Networks, strings.TrimSpace(name))
	}
	if routes := lines("/proc/net/route"); len(routes) > 1 {
		w.Routes = routes[1:]
	}
	w.First = strings.Join(lines("/proc/1/comm"), "")
	w.search()
	die(json.NewEncoder(os.Stdout).Encode(w))
}

// lines returns the lines of a file, none of one that is not there.
func lines(path string) []string {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return []string{"", ""}
	}
	die(err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// search looks at every file but those that the kernel makes up.
func (w *weakness) search() {
	die(filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // what may not even be listed is no way out
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		mode := info.Mode()
		switch {
		case path == "/proc":
			return filepath.SkipDir
		case d.IsDir() && canMake(path):
			w.Writable = append(w.Writable, path)
		case mode&fs.ModeSocket != 0:
			w.Sockets = append(w.Sockets, path)
		case mode&fs.ModeDevice != 0 && filepath.Dir(path) != "/dev/pts" && !slices.Contains(everyDevice, d.Name()):
			w.Devices = append(w.Devices, path)
		case mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
			w.Special = append(w.Special, path)
		}
		if len(w.Writable) > 0 && path == w.Writable[len(w.Writable)-1] {
			return filepath.SkipDir
		}
		return nil
	}))
}

// canMake reports whether a file can be made in dir, by making one.
func canMake(dir string) bool {
	name := filepath.Join(dir, ".evaluate")
	fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return unix.Unlink(name) == nil
}
