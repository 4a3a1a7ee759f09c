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

// A hook says where a client keeps the commands that it calls at the end of a turn.
type hook struct {
	user    func(env) string
	project string
	event   string
	unit    time.Duration // of its time limits
}

// hookTime is how long a client waits for its hook. The hook ends a minute before that.
const hookTime = 10 * time.Minute

// Hooking returns the client with that ID, with the files of its hooks instead of those of its servers.
func Hooking(id string) (Client, bool) {
	c, ok := Named(id)
	if !ok || c.hook == nil {
		return Client{}, false
	}
	c.user, c.project = c.hook.user, c.hook.project
	return c, true
}

// errNoList is the error for an event whose hooks are not a list.
var errNoList = errors.New("the hooks there are not a list")

// InstallHook returns the change of f that makes the client let the gate prove each of its turns. The program is a word
// of a shell command. Other hooks stay, before it.
func (c Client) InstallHook(f File, program string) (Change, error) {
	call := map[string]any{"type": "command", "command": fmt.Sprintf("%s hook %s --timeout %s", program, c.ID, "9m"), "timeout": hookTime / c.hook.unit}
	return c.changeHooks(f, program, []any{map[string]any{"hooks": []any{call}}})
}

// UninstallHook returns the change that removes the hook, whether it calls this program or another one with its name.
func (c Client) UninstallHook(f File, program string) (Change, error) {
	return c.changeHooks(f, program, nil)
}

// changeHooks replaces what calls the gate at the client's event by own. It reads the result back.
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

// sameList compares lists by their written form.
func sameList(a, b []any) bool {
	x, err1 := json.Marshal(append([]any{}, a...))
	y, err2 := json.Marshal(append([]any{}, b...))
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// callsGate reports whether an entry of an event calls the gate and nothing else.
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
