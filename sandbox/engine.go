package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/docker/cli/cli/connhelper"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"
	"golang.org/x/sys/unix"
)

// oldestAPI is the first API version that knows everything a box needs; it came with Docker 20.10.
const oldestAPI = "1.41"

// connectTime bounds the first exchange with an engine, so that an engine that hangs is reported too.
const connectTime = 10 * time.Second

// answerTime bounds the time that an engine takes to send the head of an answer. The slowest request is the removal of a large
// image on a busy disk.
const answerTime = 5 * time.Minute

// An Engine is a connection to a Docker engine. It implements images.Engine. It is safe for concurrent use.
type Engine struct {
	api *client.Client
	// seccomp is the boxes' system call filter, as JSON.
	seccomp string
	// chosen is the engine's default runtime, a string. It is looked up for the first box that asks for none.
	chosen atomic.Value
}

// Info describes an engine, for doctor and for the record.
type Info struct {
	// Version is the engine's own version, such as "20.10.24".
	Version string
	// APIVersion is the negotiated API version, such as "1.41".
	APIVersion string
	// Runtimes are the names that a Spec may ask for, such as "runc" and "runsc".
	Runtimes []string
	// RuncVersion is the version of runc, such as "1.1.5", with a distribution's additions.
	RuncVersion string
	// StorageDriver names the driver that stores the images, such as "overlay2".
	StorageDriver string
	// BackingFilesystem is the file system under the driver, such as "extfs" or "xfs"; "" if the driver does not report it.
	BackingFilesystem string
	// CgroupVersion is "1" or "2".
	CgroupVersion string
	// Root is the engine's data directory.
	Root string
	// FreeBytes is the space left on the file system of Root, or -1 if it is unknown, as with a remote engine.
	FreeBytes int64
	// NCPU is how many processors the engine has.
	NCPU int
	// Memory is the memory of the engine's machine, in bytes.
	Memory int64
	// KernelVersion is the kernel version of the engine's machine, such as "6.1.0-50-amd64".
	KernelVersion string
	// Security names the engine's security options for containers, such as "rootless", "userns", "apparmor" and "selinux".
	Security []string
}

// Connect finds the engine by DOCKER_HOST or the default socket and negotiates the API version. When no engine answers, the error
// is an *UnavailableError that says what to do next.
//
// The engine may be on another machine. Connect reaches it by TLS, as every Docker client does, or by the user's ssh, which then
// asks no questions.
func Connect(ctx context.Context) (*Engine, error) {
	profile, err := seccompProfile()
	if err != nil {
		return nil, err
	}
	way, err := transport(os.Getenv(client.EnvOverrideHost))
	if err != nil {
		return nil, &UnavailableError{Host: os.Getenv(client.EnvOverrideHost), Hint: "correct or unset DOCKER_HOST", Err: err}
	}
	api, err := client.NewClientWithOpts(way, client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, &UnavailableError{Host: "DOCKER_HOST", Hint: "correct or unset DOCKER_HOST and DOCKER_CERT_PATH", Err: err}
	}
	// The wrapper goes around the client's own transport: the client inspects the transport while it applies its options.
	traffic := api.HTTPClient()
	traffic.Transport = watching{traffic.Transport, answerTime}
	if err := client.WithHTTPClient(traffic)(api); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	ping, err := api.Ping(ctx)
	if err != nil {
		err = diagnose(ctx, api, err)
	} else if ping.APIVersion == "" || versions.LessThan(ping.APIVersion, oldestAPI) {
		err = &UnavailableError{
			Host: api.DaemonHost(),
			Hint: "install Docker 20.10 or later",
			Err:  fmt.Errorf("the engine speaks API version %q, at least %s is needed", ping.APIVersion, oldestAPI),
		}
	}
	if err != nil {
		api.Close()
		return nil, err
	}
	api.NegotiateAPIVersionPing(ping)
	return &Engine{api: api, seccomp: profile}, nil
}

// transport returns the client option for reaching the engine at host. For an ssh host, the user's ssh starts docker there and
// carries its stream. BatchMode keeps ssh from asking on the terminal, in the middle of a run, for what it lacks.
func transport(host string) (client.Opt, error) {
	if !strings.HasPrefix(host, "ssh://") {
		return client.FromEnv, nil
	}
	helper, err := connhelper.GetConnectionHelperWithSSHOpts(host, []string{"-o", "BatchMode=yes"})
	if err != nil {
		return nil, err
	}
	// The name only appears in errors; nothing looks it up.
	u, err := url.Parse(host)
	if err != nil {
		return nil, err
	}
	return func(c *client.Client) error {
		return errors.Join(client.WithHost("http://"+u.Hostname())(c), client.WithDialContext(helper.Dialer)(c), client.WithVersionFromEnv()(c))
	}, nil
}

// Close drops idle connections.
func (e *Engine) Close() error { return e.api.Close() }

// Info asks the engine about itself.
func (e *Engine) Info(ctx context.Context) (Info, error) {
	sys, err := e.api.Info(ctx)
	if err != nil {
		return Info{}, e.wrap("ask the engine about itself", err)
	}
	version, err := e.api.ServerVersion(ctx)
	if err != nil {
		return Info{}, e.wrap("ask the engine for its version", err)
	}
	return Info{
		Version:           sys.ServerVersion,
		APIVersion:        e.api.ClientVersion(),
		Runtimes:          slices.Sorted(maps.Keys(sys.Runtimes)),
		RuncVersion:       runcVersion(sys, version),
		StorageDriver:     sys.Driver,
		BackingFilesystem: driverStatus(sys, "Backing Filesystem"),
		CgroupVersion:     sys.CgroupVersion,
		Root:              sys.DockerRootDir,
		FreeBytes:         e.freeBytes(sys.DockerRootDir),
		NCPU:              sys.NCPU,
		Memory:            sys.MemTotal,
		KernelVersion:     sys.KernelVersion,
		Security:          securityNames(sys.SecurityOptions),
	}, nil
}

// securityNames returns the names in options such as "name=seccomp,profile=default".
func securityNames(options []string) (names []string) {
	for _, option := range options {
		for field := range strings.SplitSeq(option, ",") {
			if name, ok := strings.CutPrefix(field, "name="); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// driverStatus returns what the storage driver reports under a heading.
func driverStatus(sys system.Info, heading string) string {
	for _, pair := range sys.DriverStatus {
		if pair[0] == heading {
			return pair[1]
		}
	}
	return ""
}

// runcVersion finds the version of runc among the engine's components. If it is not listed, runcVersion returns the commit, which
// distributions often replace with the version of the package.
func runcVersion(sys system.Info, version types.Version) string {
	for _, component := range version.Components {
		if component.Name == "runc" && component.Version != "" {
			return component.Version
		}
	}
	return sys.RuncCommit.ID
}

// freeBytes returns the space left for unprivileged users at root, or -1 unless the engine is on this machine and this process
// may look.
func (e *Engine) freeBytes(root string) int64 {
	var st unix.Statfs_t
	if !e.local() || root == "" || unix.Statfs(root, &st) != nil {
		return -1
	}
	return int64(st.Bavail) * int64(st.Bsize)
}

// local reports whether the engine is reached by a socket file. That is necessary but not sufficient for an engine on this
// machine: the socket may be forwarded.
func (e *Engine) local() bool {
	host, err := url.Parse(e.api.DaemonHost())
	return err == nil && strings.HasPrefix(host.Scheme, "unix")
}
