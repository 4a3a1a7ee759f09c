package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A hook is where a client keeps the commands that it calls at the end of a turn.
type hook struct {
	user    func(env) string
	project string
	event   string
	unit    time.Duration // of its time limits
}

// hookTime is how long a client waits for its hook. The hook ends a minute before.
const hookTime = 10 * time.Minute

// Hooking returns the client of that ID with the files of its hooks in place of those of its servers.
func Hooking(id string) (Client, bool) {
	c, ok := Named(id)
	if !ok || c.hook == nil {
		return Client{}, false
	}
	c.user, c.project = c.hook.user, c.hook.project
	return c, true
}

// errNoList is the error of an event whose hooks are no list.
var errNoList = errors.New("the hooks there are no list")

// InstallHook returns the change of f by which the client has the gate prove each of its turns. The program is a word of a
// shell; hooks of others stay, before it.
func (c Client) InstallHook(f File, program string) (Change, error) {
	call := map[string]any{"type": "command", "command": fmt.Sprintf("%s hook %s --timeout %s", program, c.ID, "9m"), "timeout": hookTime / c.hook.unit}
	return c.changeHooks(f, program, []any{map[string]any{"hooks": []any{call}}})
}

// UninstallHook returns the change that takes it out, be it this program or another one of its name.
func (c Client) UninstallHook(f File, program string) (Change, error) {
	return c.changeHooks(f, program, nil)
}

// changeHooks puts own in the place of what calls the gate at the client's event. What comes out is read back.
func (c Client) changeHooks(f File, program string, own []any) (Change, error) {
	text, err := f.Read()
	if err != nil {
		return Change{}, err
	}
	format, path := formatOf(f.Name), []string{"hooks", c.hook.event}
	before, err := format.read(text)
	if err != nil {
		return Change{}, fmt.Errorf("%s: %w", f.Path(), err)
	}
	was, isList := at(before, path...).([]any)
	if !isList && at(before, path...) != nil {
		return Change{}, fmt.Errorf("%s: %w", f.Path(), errNoList)
	}
	others := slices.DeleteFunc(slices.Clone(was), func(entry any) bool { return c.callsGate(entry, program) })
	list := append(slices.Clone(others), own...)
	after, state := text, Unchanged
	switch {
	case sameList(list, was):
	case len(list) == 0:
		after, err = format.cut(text, path)
		state = Removed
	default:
		after, err = format.put(text, path, list)
		state = Removed
		if len(own) > 0 && len(others) == len(was) {
			state = Added
		} else if len(own) > 0 {
			state = Replaced
		}
	}
	if err != nil {
		return Change{}, fmt.Errorf("%s: %w", f.Path(), err)
	}
	now, err := format.read(after)
	got, _ := at(now, path...).([]any)
	if err != nil || !sameBut(before, now, path) || !sameList(got, list) {
		return Change{}, fmt.Errorf("%s: %w", f.Path(), errWritten)
	}
	return Change{c, f, state, text, after}, nil
}

// sameList compares lists by what is written of them.
func sameList(a, b []any) bool {
	x, err1 := json.Marshal(append([]any{}, a...))
	y, err2 := json.Marshal(append([]any{}, b...))
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// callsGate says whether an entry of an event calls the gate and nothing else.
func (c Client) callsGate(entry any, program string) bool {
	m, _ := entry.(map[string]any)
	list, _ := m["hooks"].([]any)
	if len(list) != 1 {
		return false
	}
	call, _ := list[0].(map[string]any)
	command, _ := call["command"].(string)
	calls := " hook " + c.ID
	return strings.HasPrefix(command+" ", program+calls+" ") || regexp.MustCompile(`^[^|&;]*(^|/)`+Entry+`'?`+calls+`( |$)`).MatchString(command)
}
