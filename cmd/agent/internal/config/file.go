package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// FileName is the configuration of a workspace, at its top.
const FileName = "agent.toml"

// maxConfig is the largest configuration file that is read, in bytes.
const maxConfig = 64 << 10

// A fileConfig is a configuration file. Everything that a workspace may
// set is here; a user's own file holds userConfig.
//
//	exclude = ["data/**"]
//	timeout = "2m"
//
//	[smoke]
//	command = "python3 serve.py"
//	seconds = 5
//	env = { PORT = "8080" }
//	ready = "/health"
//
//	[tests]
//	run = "affected"
//
//	[limits]
//	memory = "512MiB"
//	cpus = 1.5
//	pids = 64
//
//	[dependencies]
//	install = false
//
//	[egress]
//	allow = ["api.example.org", "*.example.net:8443"]
//
//	[protect]
//	paths = ["migrations/**", "LICENSE"]
//
//	[record]
//	files = false
//
//	[budget]
//	requests = 20
//	time = "10m"
type fileConfig struct {
	Smoke        smokeConfig        `toml:"smoke"`
	Limits       limitsConfig       `toml:"limits"`
	Budget       budgetConfig       `toml:"budget"`
	Dependencies dependenciesConfig `toml:"dependencies"`
	Tests        struct {
		Run string `toml:"run"` // "all", or "affected" for the packages that a patch can affect
	} `toml:"tests"`
	Record recordConfig `toml:"record"`
	Egress struct {
		Allow []string `toml:"allow"` // what boxes may reach; an empty list is nothing, which is not the same as none
	} `toml:"egress"`
	Protect struct {
		Paths []string `toml:"paths"` // patterns; a change of what they name waits for --allow protected
	} `toml:"protect"`
	Gates   []gateConfig `toml:"gate"`    // gates of the workspace's own
	Exclude []string     `toml:"exclude"` // patterns left out of the snapshot
	Timeout string       `toml:"timeout"` // of each gate but smoke, as "90s"
}

// A userConfig is the user's own configuration file. It may hold what
// no workspace can be trusted with: where the record is kept, what is
// approved without a question, and who is shown the code and paid.
type userConfig struct {
	fileConfig
	modelConfig
	DatabaseURL string   `toml:"database_url"`
	Runtime     string   `toml:"runtime"` // of the boxes, as "runsc", or "auto"
	Allow       []string `toml:"allow"`   // kinds of hold approved in advance
}

// A smokeConfig says how the smoke test starts the program.
type smokeConfig struct {
	Command any               `toml:"command"` // a string for the shell, or an array of arguments
	Seconds int               `toml:"seconds"`
	Env     map[string]string `toml:"env"`
	Ready   string            `toml:"ready"` // a path, "port:8080/path", or a text that it writes
}

// A limitsConfig bounds each box.
type limitsConfig struct {
	Memory any     `toml:"memory"` // "512MiB", or bytes
	CPUs   float64 `toml:"cpus"`
	PIDs   int64   `toml:"pids"`
}

// A dependenciesConfig says what is installed for the boxes. A workspace
// may switch off, and only the user may switch on.
type dependenciesConfig struct {
	Install *bool `toml:"install"`
	Scripts *bool `toml:"scripts"` // packages run code of their own then
}

// A recordConfig says what of a workspace is kept for replays. A workspace may switch
// off, and only the user may switch on, or say how much.
type recordConfig struct {
	Files *bool `toml:"files"`
}

// parseConfig reads a workspace's agent.toml. A key that is not known
// is an error that names it: a misspelt limit must not be no limit.
func parseConfig(data []byte) (fileConfig, error) {
	var c fileConfig
	return c, decodeStrict(data, &c)
}

// parseUserConfig reads the user's own configuration file.
func parseUserConfig(data []byte) (userConfig, error) {
	var c userConfig
	return c, decodeStrict(data, &c)
}

// decodeStrict reads TOML and refuses every key that into has no place
// for. Errors name the line, since that is what the user will go to.
func decodeStrict(data []byte, into any) error {
	d := toml.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	// The first unknown key is enough: the user mends one at a time.
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		line, _ := unknown.Errors[0].Position()
		return fmt.Errorf("line %d: there is no key %q", line, strings.Join(unknown.Errors[0].Key(), "."))
	}
	// The library's own text shows a piece of the file; the file may
	// hold a password, so only its place is told.
	var syntax *toml.DecodeError
	if errors.As(err, &syntax) {
		line, column := syntax.Position()
		return fmt.Errorf("line %d, column %d: %s", line, column, strings.TrimPrefix(syntax.Error(), "toml: "))
	}
	return err
}

// values flattens the file into text by key; what is not set is not
// there. Lists become JSON arrays, so that one shape serves every
// layer.
func (c fileConfig) values() (map[string]string, error) {
	v := map[string]string{}
	// Zero and empty mean "not set": nothing here has a meaning at
	// zero, and a limit of 0 is no limit to the engine.
	set := func(key, value string) {
		if value != "" && value != "0" {
			v[key] = value
		}
	}
	set("timeout", c.Timeout)
	set("limits.cpus", strconv.FormatFloat(c.Limits.CPUs, 'g', -1, 64))
	set("limits.pids", strconv.FormatInt(c.Limits.PIDs, 10))
	set("smoke.seconds", strconv.Itoa(c.Smoke.Seconds))
	set("smoke.ready", c.Smoke.Ready)
	set("tests.run", c.Tests.Run)
	c.Budget.values(set)
	for name, on := range map[string]*bool{"dependencies.install": c.Dependencies.Install, "dependencies.scripts": c.Dependencies.Scripts, "record.files": c.Record.Files} {
		if on != nil {
			set(name, strconv.FormatBool(*on))
		}
	}
	// A size is a number or a text; TOML has no type for either.
	switch memory := c.Limits.Memory.(type) {
	case nil:
	case string:
		set("limits.memory", memory)
	case int64:
		set("limits.memory", strconv.FormatInt(memory, 10))
	default:
		return nil, fmt.Errorf("limits.memory: give a number of bytes or a text as \"512MiB\"")
	}
	// The command is checked here, where the error can still name its
	// key.
	command, err := commandArgs("smoke.command", c.Smoke.Command)
	if err != nil {
		return nil, err
	}
	gates, err := gatesText(c.Gates)
	if err != nil {
		return nil, err
	}
	set("gate", gates)
	if len(command) > 0 {
		set("smoke.command", formatList(command))
	}
	if len(c.Exclude) > 0 {
		set("exclude", formatList(c.Exclude))
	}
	if len(c.Protect.Paths) > 0 {
		set("protect.paths", formatList(c.Protect.Paths))
	}
	if c.Egress.Allow != nil {
		set("egress.allow", formatList(c.Egress.Allow))
	}
	if len(c.Smoke.Env) > 0 {
		env, err := json.Marshal(c.Smoke.Env)
		if err != nil {
			return nil, err
		}
		set("smoke.env", string(env))
	}
	return v, nil
}

// values flattens the user's file.
func (c userConfig) values() (map[string]string, error) {
	v, err := c.fileConfig.values()
	if err != nil {
		return nil, err
	}
	if err := c.modelConfig.values(v); err != nil {
		return nil, err
	}
	if c.DatabaseURL != "" {
		v["database_url"] = c.DatabaseURL
	}
	if c.Runtime != "" {
		v["runtime"] = c.Runtime
	}
	if len(c.Allow) > 0 {
		v["allow"] = formatList(c.Allow)
	}
	return v, nil
}

// commandArgs returns the arguments of the command under key: a text is for the
// shell of the box.
func commandArgs(key string, command any) ([]string, error) {
	// An array is run as it is, with no shell between; a text is what
	// people type.
	wrong := fmt.Errorf("%s: give a text for the shell, or an array of texts", key)
	switch command := command.(type) {
	case nil:
		return nil, nil
	case string:
		if strings.TrimSpace(command) == "" {
			return nil, nil
		}
		return []string{"/bin/sh", "-c", command}, nil
	case []any:
		var args []string
		for _, a := range command {
			text, ok := a.(string)
			if !ok {
				return nil, wrong
			}
			args = append(args, text)
		}
		return args, nil
	}
	return nil, wrong
}

// formatList is a list as one text.
func formatList(items []string) string {
	text, err := json.Marshal(items)
	if err != nil { // strings always marshal
		return ""
	}
	return string(text)
}

// ParseList is the reverse of list; it also takes words between commas, as
// they come from the environment.
func ParseList(text string) []string {
	var items []string
	// A pattern may begin with a bracket too; what is not a JSON array
	// is taken as words.
	if strings.HasPrefix(strings.TrimSpace(text), "[") && json.Unmarshal([]byte(text), &items) == nil {
		return items
	}
	for _, item := range strings.Split(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// parseBytes reads a size: a number of bytes, or one with KiB, MiB,
// GiB.
func parseBytes(text string) (int64, error) {
	// Binary units only: a limit that is 7 % off because of a missing
	// letter helps nobody.
	number, unit := strings.TrimSpace(text), int64(1)
	for suffix, size := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if rest, ok := strings.CutSuffix(number, suffix); ok {
			number, unit = strings.TrimSpace(rest), size
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > 1<<50/unit {
		return 0, fmt.Errorf("%q is no size: write it as 512MiB", text)
	}
	return n * unit, nil
}

// parseTimeout reads a duration as Go writes it.
func parseTimeout(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second {
		return 0, fmt.Errorf("%q is no time limit of a second or more: write it as 90s or 5m", text)
	}
	return d, nil
}

// ReadFile returns the content of a configuration file, nil when
// there is none. Only a regular file is read, and a link only with
// follow: a workspace may hold anything.
func ReadFile(path string, follow bool) ([]byte, error) {
	// Opening a FIFO must not wait for a writer that never comes.
	flags := os.O_RDONLY | syscall.O_NONBLOCK
	if !follow {
		flags |= syscall.O_NOFOLLOW
	}
	f, err := os.OpenFile(path, flags, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case err != nil:
		return nil, err
	}
	defer f.Close() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if info.Size() > maxConfig {
		return nil, fmt.Errorf("%s is larger than %d KiB", path, maxConfig>>10)
	}
	// The size was checked; a file that grows meanwhile is read as it
	// was.
	data := make([]byte, info.Size())
	n, err := f.ReadAt(data, 0)
	if n < len(data) && err != nil {
		return nil, err
	}
	return data, nil
}

// UserPath returns where the user's configuration is, "" without
// a home.
func UserPath(getenv func(string) string) string {
	// Without the variable it is ~/.config, by the same specification.
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the XDG specification ignores relative paths
		if getenv("HOME") == "" {
			return ""
		}
		dir = filepath.Join(getenv("HOME"), ".config")
	}
	return filepath.Join(dir, "agent", "config.toml")
}
