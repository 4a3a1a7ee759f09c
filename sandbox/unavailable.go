package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"

	"github.com/docker/docker/client"
	"golang.org/x/sys/unix"
)

// An UnavailableError means that there is no engine, or that it has gone.
type UnavailableError struct {
	// Host is the address that was tried.
	Host string
	// Hint says what to do next.
	Hint string
	Err  error
}

// Error names the address that does not answer, the reason, and what to do.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("no Docker engine at %s: %v: %s", e.Host, e.Err, e.Hint)
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// startHint is the remedy for an engine that is not running.
const startHint = "start Docker (on Debian: apt-get install docker.io), or set DOCKER_HOST to an engine elsewhere"

// restartHint is the remedy for an engine that is stuck.
const restartHint = "restart the engine (on Debian: systemctl restart docker), and check its log"

// diagnose explains why an engine did not answer. The client buries the cause of a failed dial in a sentence, so
// diagnose dials once more.
func diagnose(ctx context.Context, api *client.Client, err error) error {
	unavailable := &UnavailableError{Host: api.DaemonHost(), Hint: startHint, Err: err}
	if strings.HasPrefix(api.DaemonHost(), "http:") { // by ssh, which was started in any case
		unavailable.Hint = "check that DOCKER_HOST is right, that ssh connects without a prompt, and that docker is installed there"
		return unavailable
	}
	conn, dialErr := api.Dialer()(ctx)
	if dialErr == nil {
		conn.Close()
		unavailable.Hint = "check the engine's log: something listens there but does not answer like an engine"
		return unavailable
	}
	unavailable.Err = dialErr
	switch {
	case errors.Is(dialErr, fs.ErrPermission):
		unavailable.Hint = "add yourself to the group docker and log in again, or use sudo"
	case errors.Is(dialErr, fs.ErrNotExist), errors.Is(dialErr, unix.ECONNREFUSED):
		// The start hint is right.
	case !strings.HasPrefix(api.DaemonHost(), "unix"):
		unavailable.Hint = "check that DOCKER_HOST is right and that its engine runs"
	}
	return unavailable
}

// wrap prefixes err with act; when the engine is stuck or gone, it also says so.
func (e *Engine) wrap(act string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, errSilent) {
		err = &UnavailableError{Host: e.api.DaemonHost(), Hint: restartHint, Err: err}
	} else if engineGone(err) {
		err = &UnavailableError{Host: e.api.DaemonHost(), Hint: startHint, Err: err}
	}
	return fmt.Errorf("%s: %w", act, err)
}

// engineGone reports whether err says that the connection to the engine broke or was never made, as opposed to an
// answer that the caller does not like.
func engineGone(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var op *net.OpError
	return client.IsErrConnectionFailed(err) || errors.As(err, &op) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
