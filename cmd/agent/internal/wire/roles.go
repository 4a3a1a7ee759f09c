package wire

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/agent"
	"agent/orchestrator/agent/tools"
	"agent/orchestrator/crew"
	"agent/sandbox"
)

// rolesDir is the place for a workspace's own roles. ownRoles is the place for the user's, in the directory of the
// user's configuration.
const (
	rolesDir = ".agent/roles"
	ownRoles = "roles"
)

// UserRoles returns the location of the user's own roles, or "" if there is no place for them. home is config.UserPath.
func UserRoles(home string) string {
	if home == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(home), ownRoles)
}

// LoadRoles returns the roles for a workspace: its own, the user's, and the built-in ones.
func LoadRoles(dir, home string) (crew.Roles, error) {
	roles, err := crew.LoadRoles(tools.Names(), roleLayers(dir, home)...)
	if err != nil {
		return nil, fault.Usage("fix or remove that file of "+rolesDir+", or of your own roles", "%w", err)
	}
	return roles, nil
}

// roleLayers returns the layers that may hold roles besides the built-in ones, by OfWorkspace and OfUser.
func roleLayers(dir, home string) []fs.FS {
	layers := []fs.FS{promptFiles(filepath.Join(dir, rolesDir)), nil}
	if own := UserRoles(home); own != "" {
		layers[OfUser] = promptFiles(own)
	}
	return layers
}

// StrangeRoles returns a line for each file that is not named after any role, saying that it is ignored.
func StrangeRoles(roles crew.Roles, dir, home string) (lines []string, err error) {
	list, err := crew.Strangers(roles, roleLayers(dir, home)...)
	for _, s := range list {
		in := rolesDir
		if s.Layer == OfUser {
			in = "your own roles"
		}
		lines = append(lines, fmt.Sprintf("%s in %s is ignored: it is not named after a role; the roles are %s", s.File, in, strings.Join(roles.Names(), ", ")))
	}
	return lines, err
}

// UnallowedRoles lists the roles of the workspace whose text the user has not allowed. A role says what a model may do,
// so being able to commit to a workspace must not be enough to decide it.
func UnallowedRoles(roles crew.Roles, home string) ([]agent.Source, error) {
	allowed, err := readAllowed(home)
	if err != nil {
		return nil, err
	}
	var left []agent.Source
	for _, name := range roles.Names() {
		// The digest includes the name: trust in what one role may do does not extend to another.
		s := agent.Source{Name: agent.Purpose(name), Layer: roles[name].Layer, Text: name + ".toml\n" + roles[name].Text}
		if s.Layer == OfWorkspace && !slices.Contains(allowed, s.SHA256()) {
			left = append(left, s)
		}
	}
	return left, nil
}

// allowedRoles returns the roles that may be used, or an error if the workspace has some that the user has not allowed.
func allowedRoles(dir, home string) (crew.Roles, error) {
	roles, err := LoadRoles(dir, home)
	if err != nil {
		return nil, err
	}
	left, err := UnallowedRoles(roles, home)
	if err != nil || len(left) == 0 {
		return roles, err
	}
	var names []string
	for _, s := range left {
		names = append(names, string(s.Name))
	}
	return nil, fault.Policy("read them in "+rolesDir+"; trust these texts with `agent roles --trust`, or remove them",
		"the workspace has its own roles, which you have not allowed: %s", strings.Join(names, ", "))
}

// Home returns the location of the user's configuration, or "".
func (s *Session) Home() string { return s.home }

// OwnerAlive reports whether the process recorded as the owner of a plan is alive on this machine.
func OwnerAlive(owner string) bool {
	if owner == "" {
		return false
	}
	alive, _ := sandbox.Alive(owner)
	return alive
}
