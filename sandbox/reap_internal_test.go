package sandbox

import (
	"strconv"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
)

// A stopped kept box is of no use, however long its lease is: `--in` cannot enter it.
func TestAKeptBoxThatHasStoppedIsNotLive(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for state, live := range map[container.ContainerState]bool{container.StateRunning: true, container.StateExited: false, container.StateDead: false} {
		for _, lease := range []time.Duration{time.Hour, -time.Hour} {
			l := leftover(container.Summary{
				State: state, Names: []string{"/" + keptName + "run"},
				Labels: map[string]string{labelKeep: "/work", labelLease: strconv.FormatInt(now.Add(lease).Unix(), 10)},
			}, now)
			if l.Kept != "run" || l.Live != (live && lease > 0) {
				t.Errorf("%s, lease %v: %+v", state, lease, l)
			}
		}
	}
}
