package git

import (
	"context"
	"encoding/base64"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A Call is one run of git in a repository of the agent's own, whose configuration no one else writes. The promises of
// Run hold here too: no hook, filter, monitor or alias runs.
type Call struct {
	Dir  string
	Args []string
	Env  []string // in addition to the environment of every call
	In   io.Reader
	// Out, if not nil, receives the output in place of the result, however long it is.
	Out io.Writer
	// Limit bounds the result, in bytes.
	Limit int
	// Remote is the only remote repository that git may contact; nil for none.
	Remote *Remote
}

// Run runs git; the errors are those of [Run].
func (c Call) Run(ctx context.Context) ([]byte, error) {
	env := c.Env
	if c.Remote != nil {
		env = append(c.Remote.environment(), env...)
	}
	return call{dir: c.Dir, args: c.Args, env: env, in: c.In, out: c.Out, limit: c.Limit}.run(ctx)
}

// A Remote is a repository that answers by http or https, and the credentials for it.
type Remote struct {
	// URL has no user and no password.
	URL string
	// User and Token give access to it. The token reaches git only in its environment, so that neither an argument list
	// nor a file holds it.
	User, Token string
	// Getenv returns the variables of proxies and of certificates; nil for none.
	Getenv func(string) string
}

// passed are the variables that a call with a remote inherits: they say how to reach the network.
const passed = "http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY SSL_CERT_FILE SSL_CERT_DIR GIT_SSL_CAINFO"

// environment returns the variables that let a call reach r: one protocol, and no redirect to another host, which would
// see the token too.
func (r Remote) environment() []string {
	env := []string{"GIT_ALLOW_PROTOCOL=http:https"}
	if r.Getenv != nil {
		for _, name := range strings.Fields(passed) {
			if value := r.Getenv(name); value != "" {
				env = append(env, name+"="+value)
			}
		}
	}
	settings := [][2]string{{"http.followRedirects", "false"}, {"credential.helper", ""}, {"http.lowSpeedLimit", "1000"}, {"http.lowSpeedTime", "60"}}
	if r.Token != "" {
		basic := base64.StdEncoding.EncodeToString([]byte(r.User + ":" + r.Token))
		settings = append(settings, [2]string{"http." + r.URL + ".extraHeader", "Authorization: Basic " + basic})
	}
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
	for i, s := range settings {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s[0], "GIT_CONFIG_VALUE_"+n+"="+s[1])
	}
	return env
}

// UserConfig returns the file of the user's own git configuration, "" for none. home is the user's directory.
func UserConfig(home string) string {
	for _, name := range []string{".gitconfig", ".config/git/config"} {
		if info, err := os.Stat(filepath.Join(home, name)); err == nil && info.Mode().IsRegular() {
			return filepath.Join(home, name)
		}
	}
	return ""
}

// Credential asks the user's own helper, as the user's configuration names it, for the credentials of address. Both are
// "" if there are none. No repository takes part: the call runs in home.
func Credential(ctx context.Context, home, address string) (user, secret string) {
	u, err := url.Parse(address)
	file := UserConfig(home)
	if err != nil || file == "" || strings.ContainsAny(u.Host+u.Path, "\n\x00") {
		return "", ""
	}
	ask := "protocol=" + u.Scheme + "\nhost=" + u.Host + "\npath=" + strings.TrimPrefix(u.Path, "/") + "\n\n"
	out, err := call{
		dir: home, args: []string{"credential", "fill"}, in: strings.NewReader(ask), limit: 64 << 10,
		// A repository at home is not part of the user's configuration.
		env: []string{"HOME=" + home, "GIT_CONFIG_GLOBAL=" + file, "GIT_DIR=" + os.DevNull},
	}.run(ctx)
	if err != nil {
		return "", ""
	}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		switch name {
		case "username":
			user = value
		case "password":
			secret = value
		}
	}
	return user, secret
}

// Identity returns the name and the address under which the user commits, "" for what the user's own configuration does
// not define.
func Identity(ctx context.Context, home string) (name, email string) {
	file := UserConfig(home)
	if file == "" {
		return "", ""
	}
	get := func(key string) string {
		out, err := call{
			dir: home, args: []string{"config", "--file", file, "--includes", "--get", key}, limit: 4 << 10,
			env: []string{"HOME=" + home},
		}.run(ctx)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	return get("user.name"), get("user.email")
}

// Objects returns the object directory of r; it can be read without the repository's configuration.
func (r Repo) Objects() (string, error) {
	dir := filepath.Join(r.common, "objects")
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "open", Path: dir, Err: os.ErrInvalid}
	}
	return dir, err
}
